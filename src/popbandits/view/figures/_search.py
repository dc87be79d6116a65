"""Where the search went: every configuration tried, coloured by time, sized by improvement."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from popbandits.run import Run
from popbandits.space import Choice, Float, Int
from popbandits.view.figures._style import gaps, layout

_MOST = 4000


@dataclass(frozen=True)
class Search:
    """Configurations tried.

    Args:
        names, logs: the hyperparameters, and whether their scales are logarithmic.
        labels: for each, the values of a Choice; empty for numbers.
        values: for each, its value in each configuration.
        interval, improvement: of each configuration; an improvement may be nan.
        total: how many there were; fewer are shown when they are too many.
    """

    names: list[str]
    logs: list[bool]
    labels: list[list[str]]
    values: list[list[float]]
    interval: list[int]
    improvement: list[float]
    total: int


def search_data(run: Run) -> Search:
    """Return what was tried; of more than 4,000 configurations, evenly spread ones."""
    history = run.history
    rows = np.unique(np.linspace(0, len(history) - 1, min(len(history), _MOST)).astype(int))
    params = run.settings.space.active
    return Search(
        list(run.settings.space.names),
        [isinstance(param, (Float, Int)) and bool(param.log) for param in params],
        [[str(v) for v in param.values] if isinstance(param, Choice) else [] for param in params],
        [history.values[rows, j].tolist() for j in range(len(params))],
        history.interval[rows].tolist(),
        history.upward().improvement[rows].tolist(),
        len(history),
    )


def draw_search(search: Search) -> dict[str, Any]:
    """Draw points over the first two hyperparameters, or over time where there is one; menus choose others."""
    finite = [abs(y) for y in search.improvement if np.isfinite(y)]
    scale = max(finite, default=1.0) or 1.0
    sizes = [5 + 13 * max(0.0, y) / scale if np.isfinite(y) else 5 for y in search.improvement]
    alone = len(search.names) < 2
    if not search.names:
        return {"data": [], "layout": layout("Where the search went", "", "")}
    x_name = "interval" if alone else search.names[0]
    y_name = search.names[0] if alone else search.names[1]
    trace = {
        "type": "scatter",
        "mode": "markers",
        "x": search.interval if alone else gaps(search.values[0]),
        "y": gaps(search.values[0 if alone else 1]),
        "text": [f"interval {t}" for t in search.interval],
        "marker": {
            "size": sizes,
            "color": search.interval,
            "colorscale": "Viridis",
            "colorbar": {"title": {"text": "interval"}},
            "opacity": 0.75,
        },
    }
    title = "Where the search went"
    if len(search.interval) < search.total:
        title += f" ({len(search.interval):,} of {search.total:,})"
    made = layout(title, x_name, y_name)
    axes = [("yaxis", 0)] if alone else [("xaxis", 0), ("yaxis", 1)]
    for key, j in axes:
        made[key] |= _axis(search, j)
    if len(search.names) > 2:
        made["updatemenus"] = [
            _menu(search, "x", 0.0),
            _menu(search, "y", 0.5),
        ]
        made["margin"] = made["margin"] | {"t": 110}
    return {"data": [trace], "layout": made}


def _axis(search: Search, j: int) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": {"text": search.names[j]}, "type": "log" if search.logs[j] else "linear"}
    if search.labels[j]:
        axis |= {"tickvals": list(range(len(search.labels[j]))), "ticktext": search.labels[j]}
    return axis


def _menu(search: Search, axis: str, at: float) -> dict[str, Any]:
    buttons = [
        {
            "label": f"{axis}: {name}",
            "method": "update",
            "args": [{axis: [gaps(search.values[j])]}, {f"{axis}axis": _axis(search, j)}],
        }
        for j, name in enumerate(search.names)
    ]
    return {"buttons": buttons, "active": 0 if axis == "x" else 1, "x": at, "y": 1.18, "xanchor": "left"}
