"""The figures of a run: each is data (`…_data`, plain and tested) and a drawing of it (`draw_…`, plotly's JSON).

A drawing is a dict of `data` and `layout`, what plotly.js and `plotly.graph_objects.Figure` both take; making one needs
no plotly. The report and the page show the same drawings.
"""

from collections.abc import Callable
from typing import Any

from popbandits.run import Run
from popbandits.view.figures._beliefs import beliefs_data, draw_beliefs
from popbandits.view.figures._compare import compare_data, draw_compare
from popbandits.view.figures._curves import curves_data, draw_curves
from popbandits.view.figures._learned import draw_learned, learned_data
from popbandits.view.figures._lineage import draw_lineage, lineage_data
from popbandits.view.figures._schedules import draw_schedules, schedules_data
from popbandits.view.figures._search import draw_search, search_data
from popbandits.view.figures._style import finished
from popbandits.view.figures._timeline import draw_timeline, timeline_data

FIGURES: dict[str, Callable[[Run], dict[str, Any]]] = {
    "curves": lambda run: draw_curves(curves_data(run)),
    "schedules": lambda run: draw_schedules(schedules_data(run)),
    "lineage": lambda run: draw_lineage(lineage_data(run)),
    "search": lambda run: draw_search(search_data(run)),
    "beliefs": lambda run: draw_beliefs(beliefs_data(run)),
    "learned": lambda run: draw_learned(learned_data(run)),
    "timeline": lambda run: draw_timeline(timeline_data(run)),
}
"""Name to the drawing of one run, in the order that they are shown."""


def drawn(run: Run) -> dict[str, dict[str, Any]]:
    """Return every drawing of a run."""
    return {name: draw(run) for name, draw in FIGURES.items()}


__all__ = [
    "FIGURES",
    "beliefs_data",
    "compare_data",
    "curves_data",
    "draw_beliefs",
    "draw_compare",
    "draw_curves",
    "draw_learned",
    "draw_lineage",
    "draw_schedules",
    "draw_search",
    "draw_timeline",
    "drawn",
    "finished",
    "learned_data",
    "lineage_data",
    "schedules_data",
    "search_data",
    "timeline_data",
]
