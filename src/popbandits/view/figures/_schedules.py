"""Schedules: each hyperparameter over time, on its own scale, agent by agent, and along the lineage of the best."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from popbandits.run import Run
from popbandits.space import Choice, Float, Int
from popbandits.view.figures._lines import best_rows, by_agent, quantiles
from popbandits.view.figures._style import BEST, MANY, colour, layout, line, summed_up


@dataclass(frozen=True)
class Schedule:
    """One hyperparameter over intervals.

    Args:
        name: dotted.
        log: whether its scale is logarithmic.
        values: the values of a Choice, whose numbers are positions among them; empty for numbers.
        agents: for each agent its intervals and values; empty when there are too many.
        best: the same along the lineage of the best.
        bands: intervals and the least, lower quartile, median, upper quartile and greatest value, for many agents.
    """

    name: str
    log: bool
    values: list[str]
    agents: dict[int, tuple[list[int], list[float]]]
    best: tuple[list[int], list[float]]
    bands: tuple[list[int], list[list[float]]] | None


def schedules_data(run: Run) -> list[Schedule]:
    """Return a schedule for each hyperparameter that is searched."""
    history, path = run.history, best_rows(run)
    rows_of = by_agent(history)
    found = []
    for j, (name, param) in enumerate(zip(run.settings.space.names, run.settings.space.active, strict=True)):
        column = history.values[:, j]
        many = run.settings.size > MANY
        bands = None
        if many:
            intervals, levels = quantiles(history, column, (0.0, 0.25, 0.5, 0.75, 1.0))
            bands = (intervals, levels.tolist())
        found.append(
            Schedule(
                name,
                isinstance(param, (Float, Int)) and bool(param.log),
                [str(value) for value in param.values] if isinstance(param, Choice) else [],
                {} if many else {a: (history.interval[r].tolist(), column[r].tolist()) for a, r in rows_of.items()},
                (np.asarray(history.interval)[path].tolist(), column[path].tolist()),
                bands,
            )
        )
    return found


def draw_schedules(schedules: list[Schedule]) -> dict[str, Any]:
    """Draw one panel below another, sharing the intervals."""
    n = max(1, len(schedules))
    traces: list[dict[str, Any]] = []
    made = layout("Schedules", "interval", "", height=120 + 190 * n)
    gap = 0.06 if n > 1 else 0.0
    side = (1.0 - gap * (n - 1)) / n
    for i, schedule in enumerate(schedules):
        axis = "y" if i == 0 else f"y{i + 1}"
        key = f"yaxis{'' if i == 0 else i + 1}"
        top = 1.0 - i * (side + gap)
        made[key] = {"title": {"text": schedule.name}, "domain": [max(0.0, top - side), top]}
        if schedule.log:
            made[key]["type"] = "log"
        if schedule.values:
            made[key] |= {"tickvals": list(range(len(schedule.values))), "ticktext": schedule.values}
        panel: list[dict[str, Any]] = []
        if schedule.bands is not None:
            panel += summed_up(*schedule.bands)
        for agent, (x, y) in schedule.agents.items():
            panel.append(line(f"agent {agent}", x, y, colour(agent), legendgroup=str(agent)))
        panel.append(line("lineage of the best", *schedule.best, BEST, 3.5, opacity=0.6, legendgroup="best"))
        for trace in panel:
            trace |= {"yaxis": axis, "showlegend": i == 0}
            if "line" in trace and trace["line"].get("width"):
                trace["line"]["shape"] = "hvh"
        traces += panel
    made["xaxis"]["anchor"] = "y" if n == 1 else f"y{n}"
    return {"data": traces, "layout": made}
