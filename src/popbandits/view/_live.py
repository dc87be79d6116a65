"""Progress of a run as a table in a terminal that changes in place."""

import time

from rich.console import Console, Group
from rich.live import Live as RichLive
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from popbandits.run import AgentState, Callback, Entry, FailureEntry, Run, RunState
from popbandits.view._format import number, pairs, text
from popbandits.view._lines import Pace, duration, failure, leading, summary

_MOST_ROWS = 16
_COLUMNS = {"agent": 5, "interval": 8, "score": 10, "±": 8, "change": 10, "from": 4, "time": 6, "state": 8}
"""The columns whose width does not change; "±" is the score's standard error, shown when there is one."""
_NARROW = 100  # below this many columns, hparams need the room of these
_DISPENSABLE = ("±", "from", "time")
_AROUND = 5  # lines of a terminal that are not rows: the heading, the bar, the summary


class Live(Callback):
    """One table that changes in place: agents, their scores and hparams, a bar for the run, the best so far.

    Args:
        console: where to draw.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._state: RunState | None = None
        self._pace = Pace(0)
        self._live: RichLive | None = None
        self._drawn = 0.0

    def on_start(self, run: Run) -> None:
        self._state = RunState(run.settings, run.entries)
        self._pace = Pace(self._state.reports)
        self._console.print(f"run {escape(text(run.directory))}")
        self._live = RichLive(self._table(), console=self._console, auto_refresh=False)
        self._live.start()

    def on_entry(self, entry: Entry) -> None:
        assert self._state is not None
        assert self._live is not None
        self._state.follow(entry)
        if isinstance(entry, FailureEntry):
            self._live.console.print(Text(failure(entry), style="yellow"))
        if time.monotonic() - self._drawn > 0.1:
            self._drawn = time.monotonic()
            self._live.update(self._table(), refresh=True)

    def on_end(self, run: Run) -> None:  # noqa: ARG002
        if self._live is not None and self._state is not None:
            self._live.update(self._table(), refresh=True)
            self._live.stop()

    def _table(self) -> Group:
        assert self._state is not None
        left = self._pace.seconds_left(self._state)
        return table(self._state, self._console.width, self._console.height, left)


def table(state: RunState, width: int, height: int, seconds_left: float | None = None) -> Group:
    """Return the table, the bar and the best; with many agents, those that lead and how many more there are.

    Args:
        state: what to show.
        width, height: columns and lines of the terminal.
        seconds_left: an estimate; None when there is none.
    """
    columns = {name: room for name, room in _COLUMNS.items() if width >= _NARROW or name not in _DISPENSABLE}
    if all(agent.score_error is None for agent in state.agents):
        columns.pop("±", None)
    most = max(1, min(_MOST_ROWS, height - _AROUND))
    grid = Table(expand=False, padding=(0, 1), box=None, header_style="bold")
    for name, room in columns.items():
        grid.add_column(name, justify="left" if name == "state" else "right", no_wrap=True, width=room)
    # Rich would cut every column to fit long hparams in; numbers must stay whole, so we cut the hparams.
    left = max(8, width - sum(columns.values()) - 2 * len(columns) - 3)
    grid.add_column("hparams", no_wrap=True)
    shown = leading(state, most)
    for agent in shown:
        row = _row(agent, left)
        grid.add_row(*(row[name] for name in columns), row["hparams"])
    parts: list[Table | Text] = [grid]
    if len(state.agents) > len(shown):
        parts.append(Text(f"and {len(state.agents) - len(shown)} agents more; these lead", style="dim"))
    bar = Table.grid()  # a bar alone would leave the cursor on its line
    bar.add_row(ProgressBar(total=state.settings.size * state.settings.intervals, completed=state.reports, width=60))
    parts.append(bar)
    parts.append(Text(summary(state, seconds_left)))
    return Group(*parts)


def _row(agent: AgentState, room: int) -> dict[str, str]:
    hparams = pairs(agent.hparams)
    if len(hparams) > room:
        hparams = pairs(agent.hparams, short=True)
    return {
        "agent": str(agent.agent),
        "interval": str(agent.interval),
        "score": number(agent.score),
        "±": "" if agent.score_error is None else f"{agent.score_error:.2g}",
        "change": "" if agent.change is None else number(agent.change, 3, "+"),
        "from": "" if agent.copied is None else str(agent.copied),
        "time": "" if agent.details is None else duration(sum(agent.details.seconds)),
        "state": agent.state,
        "hparams": escape(hparams if len(hparams) <= room else hparams[: room - 1] + "…"),
    }
