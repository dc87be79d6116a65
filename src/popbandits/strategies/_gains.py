"""What the paper's model is shown: the newest reports as rows with an improvement, agents in training as rows without.

The first interval of fresh weights has no score before it, so nobody knows what it gained. It tells which of the fresh
agents did better than its peers, and no more: their improvements are centred on the mean of the others'.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from popbandits._types import Floats, Ints
from popbandits.gp import Rows, standardise
from popbandits.population import View


@dataclass(frozen=True)
class Evidence:
    """n finished rows, newest first, what they observed, standardised, and the unit of that in scores."""

    rows: Rows
    y: Floats
    unit: float


def newest(view: View, window: int) -> Ints:
    """Return the newest `window` rows of a history, the newest first: a bound, however long the run."""
    history = view.history
    # By age and agent, not by arrival: a decision must not depend on who reported first. Problems change with the
    # training of the weights, so the model's time is their age: a slow agent that copies is as old as its donor.
    recent = np.arange(max(0, len(history) - window - view.size), len(history))
    return recent[np.lexsort((history.agent[recent], -history.interval[recent], -history.age[recent]))][:window]


def gains_of(view: View, window: int) -> Evidence:
    """Return what the newest `window` reports have gained."""
    history, recent = view.history, newest(view, window)
    fresh = history.before[recent] < 0
    with np.errstate(over="ignore", invalid="ignore"):
        y = np.where(fresh, history.score[recent], history.improvement[recent])
    known = np.isfinite(y)
    recent, fresh, y = recent[known], fresh[known], y[known]
    if fresh.any():
        level = float(np.mean(y[~fresh])) if (~fresh).any() else 0.0
        y = np.where(fresh, y - float(np.mean(y[fresh])) + level, y)
    standard, unit = standardise(y)
    return Evidence(Rows.plain(history.points[recent], history.age[recent].astype(float)), standard, unit)


def in_training(view: View, keepers: Sequence[int] = ()) -> Rows:
    """Return the agents that are training, and those that keep their hparams, as rows without an outcome yet."""
    jobs = [(job.point, job.age) for job in view.training.values()]
    for agent in keepers:
        row = view.last[agent]
        jobs.append((view.history.points[row], int(view.history.age[row]) + 1))
    return Rows.plain(
        np.array([point for point, _ in jobs]).reshape(len(jobs), view.space.dim),
        np.array([float(age) for _, age in jobs]),
    )
