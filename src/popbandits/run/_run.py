"""Run: what a run's folder tells, while it trains and after."""

import importlib
import json
import math
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from popbandits._errors import RunError, TrainingFailedError
from popbandits.population import History, Population
from popbandits.run._checkpoints import folder_of
from popbandits.run._entries import DecisionEntry, Entry, FailureEntry, NoteEntry, ReportEntry
from popbandits.run._lock import holder
from popbandits.run._log import Log
from popbandits.run._loop import CHECKPOINTS
from popbandits.run._settings import Settings
from popbandits.run._state import AgentState, RunState, events
from popbandits.run._summary import read_summary
from popbandits.strategies import Beliefs, Explanation

_NOTES = 5  # of the log that a status shows
_KEPT = 50_000  # events of a run that are kept in memory; those of a longer one are read when they are needed
EXPLAINED = 50_000  # reports up to which it is told where the strategy sees the agents
_Kind = TypeVar("_Kind", bound=Entry)


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
        with self._log() as log:
            log.check()
            self._begun = Settings.from_json(log.settings)
            self._length = log.length
            self._kept = tuple(log.entries()) if self._length <= _KEPT else None
            state, known = RunState(self._begun), 0
            if self._kept is None:
                state, known = read_summary(self.directory, self._begun, log)
            for entry in self._kept or log.entries(after=known):
                state.follow(entry)
        self._state = state
        self.settings = state.settings

    def __repr__(self) -> str:
        state = "finished" if self.finished else "running" if self.active else "unfinished"
        return f"<Run {self.directory} {state}, {self._state.reports} reports>"

    def _repr_html_(self) -> str:
        # By name: the engine must not depend on what shows it.
        shown: str = importlib.import_module("popbandits.view").run_html(self)
        return shown

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Everything in the log, in its order. A long run has many: `stream` yields one after another."""
        return tuple(self.stream())

    def stream(self) -> Iterator[Entry]:
        """Yield everything in the log, in its order, without keeping it."""
        if self._kept is not None:
            yield from self._kept
            return
        with self._log() as log:
            yield from log.entries(to=self._length)

    def steps(self) -> Iterator[tuple[ReportEntry, AgentState]]:
        """Yield every report with its agent as it was then, in the order of the log."""
        state = RunState(self._begun)
        for entry in self.stream():
            state.follow(entry)
            if isinstance(entry, ReportEntry):
                yield entry, state.agents[entry.agent]

    @contextmanager
    def _log(self) -> Iterator[Log]:
        log = Log.open(self.directory)
        try:
            yield log
        finally:
            log.close()

    def _newest(self, kind: type[_Kind], name: str) -> Iterator[_Kind]:
        """Yield the entries of a kind, the newest first."""
        if self._kept is not None:
            yield from (entry for entry in reversed(self._kept) if isinstance(entry, kind))
            return
        with self._log() as log:
            yield from (entry for entry in log.of_kind(name, self._length) if isinstance(entry, kind))

    @cached_property
    def _population(self) -> Population:
        return self._begun.population(events(self._begun, self.stream()))

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
        for name, metric in self._metrics(columns).items():
            columns[name] = [metrics.get(metric, math.nan) for metrics in reported]
        return columns

    def rows(self) -> tuple[list[str], Iterator[list[Any]]]:
        """Return the names of `columns` and its rows, one after another: a long run needs no memory for them."""
        space = self.settings.space
        errors = any(isinstance(entry, ReportEntry) and entry.score_error is not None for entry in self.stream())
        given = ["agent", "interval", "score", *(["score_error"] if errors else []), "improvement", "donor"]
        names = [*given, *(f"hparams.{name}" if name in given else name for name in space.params)]
        metrics = self._metrics(names)

        def rows() -> Iterator[list[Any]]:
            for entry, agent in self.steps():
                donor = -1 if agent.fresh else agent.agent if agent.copied is None else agent.copied
                error = [math.nan if entry.score_error is None else entry.score_error] if errors else []
                change = math.nan if agent.change is None else agent.change
                flat = space.flat(agent.hparams)
                told = [entry.metrics.get(metric, math.nan) for metric in metrics.values()]
                reported = [entry.agent, entry.interval, entry.score, *error, change, donor]
                yield [*reported, *(flat[name] for name in space.params), *told]

        return [*names, *metrics], rows()

    def _metrics(self, columns: Collection[str]) -> dict[str, str]:
        """Return the further metrics that any step returned, by the name of their column."""
        known = {self.settings.metric, "score_error"}
        reports = (entry for entry in self.stream() if isinstance(entry, ReportEntry))
        names = dict.fromkeys(name for entry in reports for name in entry.metrics if name not in known)
        return {f"metrics.{name}" if name in columns else name: name for name in names}

    @property
    def finished(self) -> bool:
        """Whether all intervals are trained."""
        return self._state.finished

    @property
    def active(self) -> bool:
        """Whether a process is training this run now."""
        return holder(self.directory) is not None

    @cached_property
    def reports(self) -> tuple[ReportEntry, ...]:
        """Every report as it was logged, in the order of the rows of `history`."""
        return tuple(entry for entry in self.entries if isinstance(entry, ReportEntry))

    @cached_property
    def failures(self) -> tuple[FailureEntry, ...]:
        """Every failed attempt, with its traceback."""
        return tuple(self._newest(FailureEntry, "failure"))[::-1]

    @cached_property
    def notes(self) -> Mapping[str, Any]:
        """What the strategy noted at its latest decision."""
        latest = next(self._newest(DecisionEntry, "decision"), None)
        return {} if latest is None else latest.decision.notes

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
        """Where the agents stand as the strategy sees it, in the user's scores.

        None for a strategy that tells nothing, and in a run of more than 50,000 reports: it takes a look at them all.
        """
        tell = getattr(self.settings.strategy, "explain", None) if self._state.reports <= EXPLAINED else None
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
        at, best = self._state, self._state.best
        state = "finished" if self.finished else "running" if self.active else "stopped"
        model, explanation = self.beliefs, self.explanation
        return {
            "run": str(self.directory),
            "state": state,
            "reports": at.reports,
            "budget": self.settings.size * self.settings.intervals,
            "failures": at.failures,
            "metric": self.settings.metric,
            "best": None
            if best is None
            else {
                "agent": best.agent,
                "interval": best.interval,
                "score": best.score,
                "score_error": best.score_error,
                "hparams": _plain(best.hparams),
            },
            "config": dict(self.settings.config),
            "notes": [entry.message for entry in islice(self._newest(NoteEntry, "note"), _NOTES)][::-1],
            "model": None if model is None else _plain(asdict(model)),
            "explanation": None if explanation is None else _plain(asdict(explanation)),
            "agents": [self._agent(agent, state) for agent in at.agents],
        }

    def _agent(self, agent: AgentState, run: str) -> dict[str, Any]:
        """Return where an agent stands, given the state of the whole run."""
        if agent.state in ("training", "again"):
            state = "training" if run == "running" else "stopped"
        else:
            state = "done" if self.finished or agent.reported >= self.settings.intervals else "waiting"
        return {
            "agent": agent.agent,
            "interval": agent.reported,
            "score": None if agent.score is None else _finite(agent.score),
            "score_error": agent.score_error,
            "hparams": _plain(agent.hparams or None),
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
