"""The results of an experiment as rows of text: for the terminal, and for the documentation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

from popbandits.paper._experiments import EXPERIMENTS, METHODS
from popbandits.paper._results import Result, of_today

EARLIER = "†"
"""Marks what an earlier trainer or strategy has made."""


@dataclass(frozen=True)
class Row:
    """One line of a table.

    Args:
        task, population, scale: of the cells in it.
        measure: what the numbers are: "judged", "paper's measure" or "the paper".
        texts: for each method its text, empty where there is no result.
    """

    task: str
    population: int
    scale: float
    measure: str
    texts: dict[str, str]


def rows(found: list[Result], experiment: str, after: int | None = None) -> Iterator[Row]:
    """Yield the rows of an experiment: for each task what was judged, the paper's measure, and the paper's numbers.

    Args:
        found: results, of other experiments too.
        experiment: which.
        after: the paper's measure after so many intervals, instead of everything at the end.
    """
    definition = EXPERIMENTS[experiment]
    own = [result for result in found if result.cell.experiment == experiment]
    measures: dict[str, Callable[[Result], float | None]] = {"judged": lambda result: result.judged}
    measures["paper's measure"] = lambda result: result.best
    if after is not None:
        measures = {"paper's measure": lambda result: result.curve[:after][-1]}
    for task, population, scale in sorted({(r.cell.task, r.cell.population, r.cell.scale) for r in own}):
        cells = [r for r in own if (r.cell.task, r.cell.population, r.cell.scale) == (task, population, scale)]
        for name, measure in measures.items():
            texts = {m: summary([r for r in cells if r.cell.method == m], definition.digits, measure) for m in METHODS}
            if any(texts.values()):
                yield Row(task, population, scale, name, texts)
        published = definition.paper.get((task, population), {})
        if after is None and published:
            numbers = {method: f"{published[method]:g}" if method in published else "" for method in METHODS}
            yield Row(task, population, 1.0, "the paper", numbers)


def summary(found: list[Result], digits: int, measure: Callable[[Result], float | None]) -> str:
    """Return the median, the range and the number of seeds.

    Results of an earlier trainer or method are shown, with a mark, only while there are none of today's.
    """
    shown = of_today(found)
    values = [value for result in shown if (value := measure(result)) is not None]
    if not values:
        return ""
    mark = "" if all(result.current for result in shown) else f" {EARLIER}"
    spread = f" [{min(values):.{digits}f}, {max(values):.{digits}f}]" if len(values) > 1 else ""
    return f"{median(values):.{digits}f}{spread} n={len(values)}{mark}"
