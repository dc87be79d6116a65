"""Runs as the page sees them: found by name in one folder, never through a link, read again when they have grown."""

import csv
import io
import os
import re
import sqlite3
from pathlib import Path
from typing import Any

from popbandits._errors import RunError
from popbandits.run import Run, load
from popbandits.run._log import FILE

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Shelf:
    """The runs of a folder.

    Args:
        directory: the folder of run folders, or one run's own.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory.resolve()
        self._alone = (self._directory / FILE).is_file()
        self._read: dict[str, tuple[int, Run]] = {}

    def names(self) -> list[str]:
        """Return the names of the runs, the newest first."""
        if self._alone:
            return [self._directory.name]
        found = [path for path in self._directory.iterdir() if self._is_run(path)]
        return [path.name for path in sorted(found, key=lambda path: -path.stat().st_mtime)]

    def folder(self, name: str) -> Path:
        """Return a run's folder.

        Raises:
            RunError: for a name that is none of ours.
        """
        path = self._directory if self._alone else self._directory / name
        if not _NAME.fullmatch(name) or path.name != name or not self._is_run(path):
            raise RunError("there is no such run")
        return path

    def grown(self, name: str) -> int:
        """Return the number of events in a run's log."""
        folder = self.folder(name)
        uri = f"{(folder / FILE).as_uri()}?mode=ro"
        try:
            database = sqlite3.connect(uri, uri=True, timeout=2)
            try:
                return int(database.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0])
            finally:
                database.close()
        except sqlite3.DatabaseError as error:
            raise RunError(f"the log of {name} cannot be read: {error}") from None

    def run(self, name: str) -> Run:
        """Return a run as it is now."""
        seq = self.grown(name)
        known = self._read.get(name)
        if known is None or known[0] != seq:
            self._read[name] = known = (seq, load(self.folder(name)))
            while len(self._read) > 8:
                self._read.pop(next(iter(self._read)))
        return known[1]

    def _is_run(self, path: Path) -> bool:
        return (
            not path.is_symlink() and path.is_dir() and _NAME.fullmatch(path.name) is not None and _plain(path / FILE)
        )


def _plain(file: Path) -> bool:
    return not file.is_symlink() and file.is_file() and os.access(file, os.R_OK)


def summary(run: Run) -> dict[str, Any]:
    """Return what the list of runs shows of one."""
    status = run.status()
    kept = ("state", "reports", "budget", "failures", "metric", "best")
    return {"name": run.directory.name, "strategy": type(run.settings.strategy).__name__} | {k: status[k] for k in kept}


def details(run: Run) -> dict[str, Any]:
    """Return what the page of one run shows beside its figures."""
    failures = [
        {
            "agent": entry.agent,
            "interval": entry.interval,
            **{k: entry.body.get(k, "") for k in ("message", "traceback")},
        }
        for entry in run.failures[-50:]
    ]
    status = run.status()
    del status["run"]  # where it lies on the disk is nobody's business
    return {"name": run.directory.name, "strategy": str(run.settings.strategy), "failures_told": failures} | status


def as_csv(columns: dict[str, Any]) -> str:
    """Return columns as CSV, in which no text can be taken for a formula."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([_cell(name) for name in columns])
    for row in zip(*columns.values(), strict=True):
        writer.writerow([_cell(value) for value in row])
    return out.getvalue()


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
