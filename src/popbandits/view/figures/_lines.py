"""What several figures ask of a history: values by agent, quantiles by interval, the lineage of the best."""

import numpy as np

from popbandits._types import Floats, Ints
from popbandits.population import History
from popbandits.run import Run


def best_rows(run: Run) -> list[int]:
    """Return the rows that the weights of the best report went through, the first interval first."""
    history = run.history
    best = history.best()
    if best is None:
        return []
    rows = [int(np.flatnonzero((history.agent == best.agent) & (history.interval == best.interval))[0])]
    while history.before[rows[-1]] >= 0:
        rows.append(int(history.before[rows[-1]]))
    return rows[::-1]


def by_agent(history: History) -> dict[int, Ints]:
    """Return the rows of each agent, by interval."""
    order = np.lexsort((history.interval, history.agent))
    if not len(order):
        return {}
    agents, starts = np.unique(history.agent[order], return_index=True)
    parts = np.split(order, starts[1:])
    return {int(agent): rows for agent, rows in zip(agents, parts, strict=True)}


def quantiles(history: History, values: Floats, at: tuple[float, ...]) -> tuple[list[int], Floats]:
    """Return the intervals and quantiles of the finite values in each, len(at) x intervals; nan where there is none."""
    intervals = np.unique(history.interval)
    found = np.full((len(at), len(intervals)), np.nan)
    for j, interval in enumerate(intervals):
        here = values[history.interval == interval]
        here = here[np.isfinite(here)]
        if len(here):
            found[:, j] = np.quantile(here, at)
    return intervals.tolist(), found
