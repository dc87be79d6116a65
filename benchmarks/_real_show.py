"""The tables of the bench of real training, as Markdown."""

from collections.abc import Iterator

import numpy as np

from benchmarks._ceilings import has_ceiling, read_ceiling
from benchmarks._real_cells import RealCell, read_cell
from benchmarks._real_tasks import METHODS, TASKS, Task
from benchmarks._statistics import Estimate, aggregate_estimate, improvement_estimate, mean_estimate
from popbandits._types import Floats

LEAST = 5
"""Seeds below which nothing is shown."""


def found_cells(task: str, size: int = 4) -> dict[str, RealCell]:
    """Return the cells of a task that have seeds enough, by method."""
    cells = {method: read_cell(task, method, size) for method in METHODS}
    return {method: cell for method, cell in cells.items() if len(cell.judged) >= LEAST}


def paired(ours: RealCell, theirs: RealCell) -> tuple[Floats, Floats]:
    """Return what both are worth on the seeds that both have."""
    n = min(len(ours.judged), len(theirs.judged))
    return ours.values[:n], theirs.values[:n]


def normalised(task: Task, cell: RealCell) -> Floats:
    """Return what each seed is worth between an untrained agent, 0, and the best that a search has found, 1.

    Raises:
        OptionError: when nobody has searched yet.
    """
    ceiling = read_ceiling(task.name)
    best = max(ceiling.constant_score, ceiling.line_score)
    return np.asarray((cell.values - ceiling.untrained) / (best - ceiling.untrained))


def show() -> Iterator[str]:
    """Yield the tables: all tasks together, then each."""
    yield "### All tasks together\n"
    yield from together()
    for name in TASKS:
        if cells := found_cells(name):
            yield from _task(TASKS[name], cells)


def _task(task: Task, cells: dict[str, RealCell]) -> Iterator[str]:
    yield f"### {task.name}: {task.title}\n"
    yield "| method | seeds | worth, interquartile mean | P(row beats random search) | P(PB2 beats row) |"
    yield "|---|---|---|---|---|"
    for method in sorted(cells, key=lambda m: -mean_estimate(cells[m].values).value):
        cell = cells[method]
        worth = mean_estimate(cell.values)
        columns = [_number(worth), _chance(cell, cells.get("rs")), _chance(cells.get("pb2"), cell)]
        yield f"| {method} | {len(cell.judged)} | {' | '.join(columns)} |"
    yield ""


def together() -> Iterator[str]:
    """Yield the table of all tasks; worth is normalised where the ceilings of a task are known."""
    everything = {name: cells for name in TASKS if (cells := found_cells(name))}
    if not everything:
        yield "There are no results yet; `make experiments` makes them."
        return
    yield "| method | tasks | P(row beats random search) | P(PB2 beats row) | normalised worth |"
    yield "|---|---|---|---|---|"
    rows = [row for method in METHODS if (row := _row(method, everything)) is not None]
    for _, text in sorted(rows, reverse=True):
        yield text
    yield ""


def _row(method: str, everything: dict[str, dict[str, RealCell]]) -> tuple[float, str] | None:
    tasks = {name: cells for name, cells in everything.items() if method in cells}
    if not tasks:
        return None
    searched = {name: normalised(TASKS[name], cells[method]) for name, cells in tasks.items() if has_ceiling(name)}
    chances, order = [], 0.5
    for ours, theirs in ((method, "rs"), ("pb2", method)):
        pairs = {n: paired(c[ours], c[theirs]) for n, c in tasks.items() if ours in c and theirs in c}
        found = improvement_estimate(pairs) if pairs and ours != theirs else None
        chances.append("" if found is None else _percentage(found))
        if found is not None and ours == method:
            order = found.value
    worth = aggregate_estimate(searched) if searched else None
    text = "" if worth is None else f"{worth.value:.3f} [{worth.low:.3f}, {worth.high:.3f}]"
    return order, f"| {method} | {len(tasks)} | {chances[0]} | {chances[1]} | {text} |"


def _chance(ours: RealCell | None, theirs: RealCell | None) -> str:
    if ours is None or theirs is None or ours == theirs:
        return ""
    return _percentage(improvement_estimate({"": paired(ours, theirs)}))


def _percentage(found: Estimate) -> str:
    text = f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
    return f"**{text}**" if found.low > 0.5 or found.high < 0.5 else text


def _number(found: Estimate) -> str:
    digits = 1 if abs(found.value) >= 10 else 3
    return f"{found.value:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"
