"""Runs as the page sees them: found by name in one folder, never through a link, read again when they have grown."""

import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from popbandits._errors import RunError
from popbandits.run import Run, load
from popbandits.run._log import FILE, Log

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class _Read:
    """A run as it was with so many events, and what was made of it for the first page that asked."""

    length: int
    run: Run
    made: dict[str, str] = field(default_factory=dict)


class Shelf:
    """The runs of a folder, read when they have grown and not for every page that asks.

    Args:
        directory: the folder of run folders, or one run's own.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory.resolve()
        self._alone = (self._directory / FILE).is_file()
        self._read: dict[str, _Read] = {}
        self._one = threading.Lock()  # fifty pages that ask at once are answered by one reading

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
        log = Log.open(self.folder(name))
        try:
            return log.length
        finally:
            log.close()

    def run(self, name: str) -> Run:
        """Return a run as it is now."""
        with self._one:
            return self._now(name).run

    def made(self, name: str, what: str, make: Callable[[Run], str]) -> str:
        """Return a text that `make` makes of a run as it is now: made once, however many ask for it."""
        with self._one:
            now = self._now(name)
            if what not in now.made:
                now.made[what] = make(now.run)
            return now.made[what]

    def _now(self, name: str) -> _Read:
        length = self.grown(name)
        known = self._read.pop(name, None)
        if known is None or known.length != length:
            known = _Read(length, load(self.folder(name)))
        self._read[name] = known  # the last asked for is the last to be forgotten
        while len(self._read) > 8:
            self._read.pop(next(iter(self._read)))
        return known

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
