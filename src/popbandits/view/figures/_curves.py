"""Learning curves by agent, copies marked, the lineage of the best in bold."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from popbandits.run import Run
from popbandits.view.figures._lines import best_rows, by_agent, quantiles
from popbandits.view.figures._style import BEST, MANY, colour, gaps, layout, line, summed_up


@dataclass(frozen=True)
class Curves:
    """Scores over intervals.

    Args:
        metric: the name of the score.
        agents: for each agent its intervals and scores; empty when there are too many agents to tell apart.
        errors: for each agent the standard errors of its scores, nan where there is none; empty when none has one.
        copies: for each copy the interval it began with, the score it began with, the agent and the donor.
        best: the intervals of training and scores along the lineage of the best.
        bands: intervals and the least, lower quartile, median, upper quartile and greatest score, for many agents.
    """

    metric: str
    agents: dict[int, tuple[list[int], list[float]]]
    copies: list[tuple[int, float, int, int]]
    best: tuple[list[int], list[float]]
    bands: tuple[list[int], list[list[float]]] | None
    errors: dict[int, list[float]] = field(default_factory=dict)


def curves_data(run: Run) -> Curves:
    """Return the curves of a run."""
    history = run.history
    path = best_rows(run)
    best = (history.interval[path].tolist(), history.score[path].tolist())
    if run.settings.size > MANY:
        intervals, found = quantiles(history, history.score, (0.0, 0.25, 0.5, 0.75, 1.0))
        return Curves(run.settings.metric, {}, [], best, (intervals, found.tolist()))
    agents = {
        agent: (history.interval[rows].tolist(), history.score[rows].tolist())
        for agent, rows in by_agent(history).items()
    }
    copied = np.flatnonzero((history.donor >= 0) & (history.donor != history.agent))
    copies = [
        (
            int(history.interval[row]) - 1,
            float(history.score[history.before[row]]),
            int(history.agent[row]),
            int(history.donor[row]),
        )
        for row in copied
    ]
    errors: dict[int, list[float]] = {}
    if not np.isnan(history.score_error).all():
        errors = {agent: history.score_error[rows].tolist() for agent, rows in by_agent(history).items()}
    return Curves(run.settings.metric, agents, copies, best, None, errors)


def draw_curves(curves: Curves) -> dict[str, Any]:
    """Draw the curves."""
    traces: list[dict[str, Any]] = []
    if curves.bands is not None:
        traces += summed_up(*curves.bands)
    for agent, (x, y) in curves.agents.items():
        error = curves.errors.get(agent)
        bars: dict[str, Any] = {} if error is None else {"error_y": {"array": gaps(error), "width": 0, "thickness": 1}}
        traces.append(line(f"agent {agent}", x, y, colour(agent), **bars))
    if curves.copies:
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "copied",
                "x": [copy[0] for copy in curves.copies],
                "y": [copy[1] for copy in curves.copies],
                "text": [f"agent {agent} copied agent {donor}" for _, _, agent, donor in curves.copies],
                "marker": {"symbol": "triangle-up", "size": 8, "color": [colour(copy[2]) for copy in curves.copies]},
            }
        )
    traces.append(line("lineage of the best", *curves.best, BEST, 3.5, opacity=0.6))
    return {"data": traces, "layout": layout("Learning curves", "interval", curves.metric)}
