"""What PB2's model is shown: the newest reports as rows with an improvement, agents in training as rows without.

The first interval of fresh weights has no score before it, so nobody knows what it gained. To a model that learns the
level of gains it tells nothing, and it is left out: what suits fresh weights is seldom what suits trained ones. To one
that takes the level for known it tells which of the fresh agents did better than its peers, and no more: their
improvements are centred on the mean of the others'.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from popbandits._types import Floats
from popbandits.gp import Rows, standardise
from popbandits.population import View


@dataclass(frozen=True)
class Evidence:
    """n finished rows, newest first, their standardised improvements, and the unit of those in scores."""

    rows: Rows
    y: Floats
    unit: float


def evidence_of(view: View, window: int, *, centred: bool) -> Evidence:
    """Return the newest `window` reports that have an improvement. Only these are looked at, however long the run.

    Args:
        view: of the population.
        window: how many reports at most.
        centred: whether the level of gains is taken for known, and off.
    """
    history = view.history
    # By age and agent, not by arrival: a decision must not depend on who reported first. Problems change with the
    # training of the weights, so the model's time is their age: a slow agent that copies is as old as its donor.
    recent = np.arange(max(0, len(history) - window - view.size), len(history))
    recent = recent[np.lexsort((history.agent[recent], -history.interval[recent], -history.age[recent]))][:window]
    fresh = history.before[recent] < 0
    with np.errstate(over="ignore", invalid="ignore"):
        y = np.where(fresh, history.score[recent], history.improvement[recent])
    known = np.isfinite(y) & (centred | ~fresh)
    recent, fresh, y = recent[known], fresh[known], y[known]
    if fresh.any():
        level = float(np.mean(y[~fresh])) if (~fresh).any() else 0.0
        y = np.where(fresh, y - float(np.mean(y[fresh])) + level, y)
    rows = Rows(history.points[recent], history.age[recent].astype(float), recent, history.before[recent])
    standard, unit = standardise(y, centred=centred)
    return Evidence(rows, standard, unit)


def in_training(view: View, keepers: Sequence[int] = ()) -> Rows:
    """Return the agents that are training, and those that keep their hparams, as rows without an outcome yet."""
    jobs = [(job.point, job.age, job.before) for job in view.training.values()]
    for agent in keepers:
        row = view.last[agent]
        jobs.append((view.history.points[row], int(view.history.age[row]) + 1, row))
    return Rows(
        np.array([point for point, _, _ in jobs]).reshape(len(jobs), view.space.dim),
        np.array([float(age) for _, age, _ in jobs]),
        len(view.history) + np.arange(len(jobs)),
        np.array([before for _, _, before in jobs], dtype=np.int64),
    )
