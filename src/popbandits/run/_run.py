"""Run: what a run's folder tells, while it trains and after."""

import importlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from popbandits._errors import RunError, TrainingFailedError
from popbandits.population import History, Population
from popbandits.run._checkpoints import folder_of
from popbandits.run._entries import Entry, FailureEntry, NoteEntry, ReportEntry
from popbandits.run._lock import holder
from popbandits.run._log import Log
from popbandits.run._loop import CHECKPOINTS
from popbandits.run._settings import Settings
from popbandits.run._state import events, extended
from popbandits.strategies import Beliefs, Explanation

_NOTES = 5  # of the log that a status shows


@dataclass(frozen=True)
class Best:
    """The best that a run has found.

    Args:
        agent, interval, score: who reported what, and when. The score is in the user's sense: for mode "min", lower is
            better.
        score_error: the standard error of that score; None where the trainable gave none.
        hparams: of that interval.
        checkpoint: the folder with its weights; None when it is there no more.
        schedule: the hparams of interval 1, 2, … that these weights were trained with, through all donors.
    """

    agent: int
    interval: int
    score: float
    hparams: dict[str, Any]
    checkpoint: Path | None
    schedule: tuple[dict[str, Any], ...]
    score_error: float | None = None


@dataclass(frozen=True)
class Copy:
    """A copy of weights: before this interval the agent took over the donor's."""

    agent: int
    interval: int
    donor: int


class Run:
    """A run, read from its folder. What it shows is as of the moment it was loaded.

    Args:
        directory: the run's folder.

    Raises:
        RunError: when there is no run, or its log is damaged or of another version.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = Path(directory)
        log = Log.open(self.directory)
        try:
            log.check()
            self._begun = Settings.from_json(log.settings)
            self.entries: tuple[Entry, ...] = tuple(log.entries())
        finally:
            log.close()
        self.settings = extended(self._begun, self.entries)

    def __repr__(self) -> str:
        state = "finished" if self.finished else "running" if self.active else "unfinished"
        return f"<Run {self.directory} {state}, {len(self.history)} reports>"

    def _repr_html_(self) -> str:
        # By name: the engine must not depend on what shows it.
        shown: str = importlib.import_module("popbandits.view").run_html(self)
        return shown

    @cached_property
    def _population(self) -> Population:
        return self._begun.population(events(self._begun, self.entries))

    @cached_property
    def history(self) -> History:
        """Every report, as columns. Scores are the user's metric: for mode "min", lower is better."""
        history = self._population.history
        return history if self.settings.mode == "max" else history.negated()

    def columns(self) -> dict[str, Any]:
        """Return the history's columns and one for each further metric that a step returned: for a data frame.

        A metric that an interval did not return is nan there.
        """
        columns = self.history.columns()
        reported = [entry.metrics for entry in self.reports]
        known = {self.settings.metric, "score_error"}
        for name in dict.fromkeys(name for metrics in reported for name in metrics if name not in known):
            columns[f"metrics.{name}" if name in columns else name] = [m.get(name, math.nan) for m in reported]
        return columns

    @property
    def finished(self) -> bool:
        """Whether all intervals are trained."""
        return self._population.finished

    @property
    def active(self) -> bool:
        """Whether a process is training this run now."""
        return holder(self.directory) is not None

    @cached_property
    def reports(self) -> tuple[ReportEntry, ...]:
        """Every report as it was logged, in the order of the rows of `history`."""
        return tuple(entry for entry in self.entries if isinstance(entry, ReportEntry))

    @property
    def failures(self) -> tuple[FailureEntry, ...]:
        """Every failed attempt, with its traceback."""
        return tuple(entry for entry in self.entries if isinstance(entry, FailureEntry))

    @property
    def notes(self) -> Mapping[str, Any]:
        """What the strategy noted at its latest decision."""
        return self._population.notes

    @property
    def beliefs(self) -> Beliefs | None:
        """What the strategy's model had learned at its latest decision; None for a strategy that tells nothing."""
        return self.believed(self.notes)

    def believed(self, notes: Mapping[str, Any]) -> Beliefs | None:
        """Return what the strategy says that the notes of one of its decisions mean; None when it says nothing."""
        tell = getattr(self.settings.strategy, "beliefs", None)
        return None if tell is None else tell(notes, self.settings.space, self.settings.size)

    @cached_property
    def explanation(self) -> Explanation | None:
        """Where the agents stand as the strategy sees it, in the user's scores; None for one that tells nothing."""
        tell = getattr(self.settings.strategy, "explain", None)
        told: Explanation | None = None if tell is None else tell(self._population.view())
        return told.negated() if told is not None and self.settings.mode == "min" else told

    @property
    def best(self) -> Best:
        """The best report so far, with the schedule along its lineage.

        Raises:
            RunError: while no score is finite.
            TrainingFailedError: when none was, to the end.
        """
        history = self.history
        best = history.best()
        if best is None:
            if self.finished:
                raise TrainingFailedError(
                    f"{self.directory} is finished, but none of its {len(history)} scores was finite"
                )
            raise RunError(f"{self.directory} has no finite score yet")
        row = int(np.flatnonzero((history.agent == best.agent) & (history.interval == best.interval))[0])
        return Best(
            best.agent,
            best.interval,
            best.score,
            best.hparams,
            self._checkpoint(row),
            self._lineage_schedule(row),
            best.score_error,
        )

    def schedule(self, agent: int | str = "best") -> tuple[dict[str, Any], ...]:
        """Return the hparams of interval 1, 2, … that an agent's weights were trained with, through all its donors.

        Args:
            agent: an agent's id, or "best" for the weights of the best report.

        Raises:
            RunError: for an agent that is not there or has not reported.
        """
        if agent == "best":
            return self.best.schedule
        rows = np.flatnonzero(self.history.agent == agent)
        if len(rows) == 0:
            raise RunError(
                f"{self.directory} has no report of agent {agent!r}; agents are 0 to {self.settings.size - 1}"
            )
        return self._lineage_schedule(int(rows[-1]))

    @property
    def lineage(self) -> tuple[Copy, ...]:
        """Every copy of weights, in the order of the log."""
        history = self.history
        rows = np.flatnonzero((history.donor >= 0) & (history.donor != history.agent))
        return tuple(Copy(int(history.agent[r]), int(history.interval[r]), int(history.donor[r])) for r in rows)

    @property
    def plot(self) -> Any:
        """The figures of this run as plotly's objects: `run.plot.curves()`, `schedules`, `lineage` and others."""
        # By name: the engine must not depend on what shows it.
        return importlib.import_module("popbandits.view.plots").Plots(self)

    def status(self) -> dict[str, Any]:
        """Return where the run stands, as plain JSON."""
        history = self.history
        last: dict[int, int] = {int(agent): row for row, agent in enumerate(history.agent)}
        best = history.best()
        state = "finished" if self.finished else "running" if self.active else "stopped"
        model, explanation = self.beliefs, self.explanation
        return {
            "run": str(self.directory),
            "state": state,
            "reports": len(history),
            "budget": self.settings.size * self.settings.intervals,
            "failures": len(self.failures),
            "metric": self.settings.metric,
            "best": None
            if best is None
            else {
                "agent": best.agent,
                "interval": best.interval,
                "score": best.score,
                "score_error": best.score_error,
                "hparams": best.hparams,
            },
            "config": dict(self.settings.config),
            "notes": [entry.message for entry in self.entries if isinstance(entry, NoteEntry)][-_NOTES:],
            "model": None if model is None else _plain(asdict(model)),
            "explanation": None if explanation is None else _plain(asdict(explanation)),
            "agents": [self._agent(agent, last.get(agent), state) for agent in range(self.settings.size)],
        }

    def _agent(self, agent: int, row: int | None, run: str) -> dict[str, Any]:
        """Return where an agent stands: row is its latest report's, run the state of the whole."""
        history, job = self.history, self._population.training.get(agent)
        interval = 0 if row is None else int(history.interval[row])
        if job is not None:
            state = "training" if run == "running" else "stopped"
        else:
            state = "done" if self.finished or interval >= self.settings.intervals else "waiting"
        hparams = job.hparams if job is not None else None if row is None else history.hparams(row)
        score = None if row is None else _finite(float(history.score[row]))
        error = None if row is None else _finite(float(history.score_error[row]))
        return {
            "agent": agent,
            "interval": interval,
            "score": score,
            "score_error": error,
            "hparams": _plain(hparams),
            "state": state,
        }

    def _lineage_schedule(self, row: int) -> tuple[dict[str, Any], ...]:
        schedule = []
        while row >= 0:
            schedule.append(self.history.hparams(row))
            row = int(self.history.before[row])
        return tuple(reversed(schedule))

    def _checkpoint(self, row: int) -> Path | None:
        name = self.reports[row].checkpoint
        path = self.directory / CHECKPOINTS / str(name)
        return path if name is not None and (self.directory / CHECKPOINTS / folder_of(name)).exists() else None


def _finite(score: float) -> float | None:
    return score if math.isfinite(score) else None


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))
