"""Progress of a run as plain lines, and what a line says: for files, pipes, and wherever rich is not installed."""

import math
import time
from typing import TextIO

from popbandits.run import AgentState, Callback, Entry, FailureEntry, ReportEntry, Run, RunState
from popbandits.view._format import text, with_error


class Pace:
    """How fast reports come in since it was made.

    Args:
        reports: that had come in by then.
    """

    def __init__(self, reports: int) -> None:
        self._before, self._began = reports, time.monotonic()

    def seconds_left(self, state: RunState) -> float | None:
        """Return an estimate of the time to the end; None before a report has come in."""
        done = state.reports - self._before
        left = state.settings.size * state.settings.intervals - state.reports
        return (time.monotonic() - self._began) / done * left if done else None


class Lines(Callback):
    """A line for each interval that all agents have ended, and for each failure.

    Args:
        out: where to write.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._state: RunState | None = None
        self._pace = Pace(0)
        self._shown = 0

    def on_start(self, run: Run) -> None:
        self._state = RunState(run.settings, run.entries)
        self._pace = Pace(self._state.reports)
        self._shown = self._state.reports // run.settings.size
        self._print(f"run {text(run.directory)}")

    def on_entry(self, entry: Entry) -> None:
        assert self._state is not None
        self._state.follow(entry)
        if isinstance(entry, FailureEntry):
            self._print(failure(entry))
        rounds = self._state.reports // self._state.settings.size
        if isinstance(entry, ReportEntry) and rounds > self._shown:
            self._shown = rounds
            self._print(summary(self._state, self._pace.seconds_left(self._state)))

    def _print(self, line: str) -> None:
        print(line, file=self._out, flush=True)


def summary(state: RunState, seconds_left: float | None) -> str:
    """Return how far a run is, its best and how long it will take, on one line."""
    budget = state.settings.size * state.settings.intervals
    parts = [f"{state.reports}/{budget} reports"]
    if state.best is not None:
        best = state.best
        score = with_error(best.score, best.score_error)
        parts.append(f"best {text(state.settings.metric)} {score} (agent {best.agent}, interval {best.interval})")
    if state.failures:
        parts.append(f"{state.failures} failures")
    if seconds_left is not None and state.reports < budget:
        parts.append(f"{duration(seconds_left)} left")
    return ", ".join(parts)


def leading(state: RunState, most: int) -> list[AgentState]:
    """Return all agents where they are few, else those that lead, the best first."""
    if len(state.agents) <= most:
        return state.agents

    def rank(agent: AgentState) -> float:
        known = agent.score is not None and math.isfinite(agent.score)
        return -state.settings.inside(agent.score) if known and agent.score is not None else math.inf

    return sorted(state.agents, key=rank)[:most]


def failure(entry: FailureEntry) -> str:
    """Return what failed, on one line."""
    return f"agent {entry.agent}, interval {entry.interval}, attempt {entry.attempt}: {text(entry.message)}"


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    whole = round(seconds)
    if whole < 10:
        return f"{seconds:.1f} s"
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min" if whole < 5400 else f"{whole / 3600:.1f} h"
