"""What a notebook shows: a table that changes while a run trains, and a run as HTML."""

import importlib
import math
import sys
import time
from typing import Any

import numpy as np

from popbandits.population import History
from popbandits.run import Callback, Entry, FailureEntry, Run, RunState
from popbandits.view._format import number, pairs, text, with_error
from popbandits.view._html import cell, escaped, table
from popbandits.view._lines import Pace, failure, leading, summary

_EVERY = 0.5  # seconds between two drawings: a notebook keeps every one that it is sent
_MOST = 16  # agents, and intervals of a schedule, that are shown
_WIDTH, _HEIGHT = 480, 160
_COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd", "#d62728", "#8c564b", "#e377c2", "#bcbd22")


def in_notebook() -> bool:
    """Return whether what is displayed ends up in a notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and getattr(shell, "kernel", None) is not None


class NotebookTable(Callback):
    """A compact table under the cell of a notebook, brought up to date while the run trains."""

    def __init__(self) -> None:
        self._state: RunState | None = None
        self._pace = Pace(0)
        self._shown: Any = None
        self._drawn = 0.0
        self._folder, self._failed = "", ""

    def on_start(self, run: Run) -> None:
        self._state = RunState(run.settings, run.entries)
        self._pace, self._folder = Pace(self._state.reports), text(run.directory)
        self._shown = _display(self._html())

    def on_entry(self, entry: Entry) -> None:
        assert self._state is not None
        self._state.follow(entry)
        if isinstance(entry, FailureEntry):
            self._failed = failure(entry)
        if self._shown is not None and time.monotonic() - self._drawn > _EVERY:
            self._drawn = time.monotonic()
            self._shown.update(_Html(self._html()))

    def on_end(self, run: Run) -> None:
        if self._shown is not None:
            self._shown.update(_Html(self._html(ended=not run.finished)))

    def _html(self, *, ended: bool = False) -> str:
        """Return the table; of a run that was stopped before its end, nobody trains any more."""
        assert self._state is not None
        state, agents = self._state, leading(self._state, _MOST)
        idle = {"training": "stopped", "again": "stopped"} if ended else {}
        rows = [
            [
                agent.agent,
                agent.interval,
                with_error(agent.score, agent.score_error),
                idle.get(agent.state, agent.state),
                pairs(agent.hparams),
            ]
            for agent in agents
        ]
        lines = (
            [f"and {len(state.agents) - len(agents)} agents more; these lead"]
            if len(agents) < len(state.agents)
            else []
        )
        lines += [summary(state, None if ended else self._pace.seconds_left(state))]
        lines += [f"the last failure: {self._failed}"] if self._failed else []
        shown = table(("agent", "interval", state.settings.metric, "state", "hparams"), rows)
        below = "".join(f"<div>{escaped(line)}</div>" for line in lines)
        return f"<div>run {escaped(self._folder)}</div>{shown}{below}"


def run_html(run: Run) -> str:
    """Return a run as a notebook shows it: state, best, learning curves and the schedule of the best weights."""
    settings, history = run.settings, run.history
    state = "finished" if run.finished else "running" if run.active else "stopped"
    budget = settings.size * settings.intervals
    head = f"<b>{escaped(str(run.directory))}</b>: {state}, {len(history)} of {budget} reports"
    if run.failures:
        head += f"<div>{len(run.failures)} failures; the last: {escaped(failure(run.failures[-1]))}</div>"
    best = history.best()
    if best is None:
        return f"<div>{head}</div>"
    score = with_error(best.score, best.score_error)
    found = f"best {settings.metric} {score} (agent {best.agent}, interval {best.interval}): {pairs(best.hparams)}"
    schedule = [settings.space.flat(hparams) for hparams in run.best.schedule]
    rows = [[i, *(cell(row[name]) for name in row)] for i, row in enumerate(schedule[:_MOST], 1)]
    more = f"<div>and {len(schedule) - _MOST} intervals more: run.schedule()</div>" if len(schedule) > _MOST else ""
    return (
        f"<div>{head}</div><div>{escaped(found)}</div>{_curves(history)}"
        f"<div>the schedule of the best weights</div>{table(('interval', *schedule[0]), rows)}{more}"
    )


def _curves(history: History) -> str:
    """Return the scores of all agents as one small drawing."""
    known = np.isfinite(history.score)
    last = int(history.interval.max())
    if last < 2:
        return ""  # one interval is no curve
    low, high = float(history.score[known].min()), float(history.score[known].max())
    spread = high - low if math.isfinite(high - low) and high > low else 1.0
    lines, names = [], []
    for agent in np.unique(history.agent).tolist():
        rows = np.flatnonzero((history.agent == agent) & known)
        x = 1 + (history.interval[rows] - 1) / (last - 1) * (_WIDTH - 2)
        y = 1 + (high - history.score[rows]) / spread * (_HEIGHT - 2)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        colour = _COLOURS[agent % len(_COLOURS)]
        lines.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>')
        names.append(f'<span style="color:{colour}">{agent}</span>')
    said = f"scores from {number(low)} to {number(high)}, intervals 1 to {last}"
    named = f"; agents {' '.join(names)}" if len(names) <= len(_COLOURS) else ""
    return (
        f'<svg role="img" aria-label="{escaped(said)}" width="{_WIDTH}" height="{_HEIGHT}">{"".join(lines)}</svg>'
        f"<div>{escaped(said)}{named}</div>"
    )


class _Html:
    """Something that notebooks show as HTML."""

    def __init__(self, source: str) -> None:
        self._source = source

    def __repr__(self) -> str:
        return "the progress of a run, as HTML"

    def _repr_html_(self) -> str:
        return self._source


def _display(source: str) -> Any:
    return importlib.import_module("IPython.display").display(_Html(source), display_id=True)
