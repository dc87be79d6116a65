"""Runs as the page sees them: found by name in one folder, never through a link, read again when they have changed."""

import os
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from popbandits._errors import PopbanditsError, RunError
from popbandits.run import FILE, Log, Run, holder, load
from popbandits.view._explained import standings, told_effects

_LISTED = 200
_REMEMBERED = 8
_FRESH = 0.2  # seconds that a look at a log serves: fifty pages ask eight things each after every report
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")


class Mark(NamedTuple):
    """What tells that a run has changed: its log has grown, or its controller has come or gone."""

    length: int
    active: bool


@dataclass
class _Known:
    """A run as it was at a mark, and what was made of it; whoever holds the lock may bring it up to date."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    mark: Mark | None = None
    run: Run | None = None
    made: dict[str, str] = field(default_factory=dict)


class Shelf:
    """The runs of a folder, read when they have changed and not for every page that asks.

    Args:
        directory: the folder of run folders, or one run's own.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory.resolve()
        self._alone = (self._directory / FILE).is_file()
        self._known: dict[str, _Known] = {}
        self._brief = threading.Lock()  # held for a look at the dict, never while a run is read
        self._marks: dict[str, tuple[float, Mark]] = {}
        self._summaries: dict[str, tuple[Mark, dict[str, Any]]] = {}

    def names(self) -> list[str]:
        """Return the names of the runs, the newest first."""
        if self._alone:
            return [self._directory.name]
        try:
            found = [path for path in self._directory.iterdir() if self._is_run(path)]
        except OSError as error:
            raise RunError(f"the folder of runs cannot be read: {error.strerror}") from None
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

    def mark(self, name: str) -> Mark:
        """Return what changes when a run does; a look that does not read the run."""
        folder = self.folder(name)
        log = Log.open(folder)
        try:
            found = Mark(log.length, holder(folder) is not None)
        finally:
            log.close()
        self._marks[name] = time.monotonic(), found
        return found

    def made(self, name: str, what: str, make: Callable[[Run], str]) -> str:
        """Return a text that `make` makes of a run as it is now: made once, however many pages ask for it."""
        when, mark = self._marks.get(name, (0.0, None))
        if mark is None or time.monotonic() - when > _FRESH:
            mark = self.mark(name)
        known = self._of(name)
        with known.lock:
            if known.mark != mark:
                known.mark, known.run, known.made = mark, load(self.folder(name)), {}
            assert known.run is not None
            if what not in known.made:
                known.made[what] = make(known.run)
            return known.made[what]

    def summaries(self) -> list[dict[str, Any]]:
        """Return what the list shows of each run; a run that cannot be read says why."""
        return [self._summary(name) for name in self.names()[:_LISTED]]

    def told(self, error: Exception) -> str:
        """Return what an error says, but for where the runs lie."""
        return str(error).replace(f"{self._directory}/", "").replace(str(self._directory), self._directory.name)

    def _summary(self, name: str) -> dict[str, Any]:
        try:
            mark = self.mark(name)
            known = self._summaries.get(name)
            if known is None or known[0] != mark:
                self._summaries[name] = known = mark, summary(load(self.folder(name)))
            return known[1]
        except PopbanditsError as error:
            return {"name": name, "error": self.told(error)}
        except Exception as error:  # whatever is strange in one folder, the list shows the others
            return {"name": name, "error": f"it cannot be shown: {type(error).__name__}: {self.told(error):.200}"}

    def _of(self, name: str) -> _Known:
        with self._brief:
            known = self._known.pop(name, None) or _Known()
            self._known[name] = known  # the last asked for is the last to be forgotten
            while len(self._known) > _REMEMBERED:
                self._known.pop(next(iter(self._known)))
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
    return {"name": run.directory.name, "strategy": str(run.settings.strategy).partition("(")[0]} | {
        k: status[k] for k in kept
    }


def details(run: Run) -> dict[str, Any]:
    """Return what the page of one run shows beside its figures."""
    failures = [
        {name: getattr(entry, name) for name in ("agent", "interval", "message", "traceback")}
        for entry in run.failures[-50:]
    ]
    status = run.status()
    del status["run"]  # where it lies on the disk is nobody's business
    explanation = run.explanation
    told = {
        "name": run.directory.name,
        "strategy": str(run.settings.strategy),
        "failures_told": failures,
        "standings": standings(explanation),
        "effects_told": [] if explanation is None else list(told_effects(explanation)),
    }
    return told | status
