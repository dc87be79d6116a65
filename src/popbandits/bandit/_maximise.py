"""Maximising an acquisition over a box of the unit cube: a sweep, then a climb from the best of it.

Int and Choice coordinates are snapped to their values before anything is compared: what is returned is the best point
that can be tried. While climbing, Int coordinates are relaxed and Choice coordinates stay.
"""

from collections.abc import Callable

import numpy as np

from popbandits._random import quasi_random
from popbandits._types import Bools, Floats
from popbandits.bandit._acquisition import Acquisition
from popbandits.gp import Posterior

_SWEEP = 512
_NEIGHBOURS = 8
_CLIMBERS = 4
_STEPS = 8


def maximise(
    posterior: Posterior,
    acquisition: Acquisition,
    t: float,
    *,
    lower: Floats,
    upper: Floats,
    incumbents: Floats,
    snap: Callable[[Floats], Floats],
    rng: np.random.Generator,
) -> Floats:
    """Return the point of the box worth most in interval t, shape (D,).

    Args:
        posterior: what is believed of f.
        acquisition: what a belief is worth.
        t: the interval to come.
        lower, upper: the box, D each, within the unit cube. Choice coordinates are free whatever the box says.
        incumbents: points known to be good, m x D; they and their neighbourhoods join the sweep.
        snap: moves points to where Int and Choice have values.
        rng: draws the sweep.
    """
    dim = len(lower)
    if dim == 0:
        return np.zeros(0)
    choice = np.array(posterior.kernel.is_choice, dtype=bool)
    lower, upper = np.where(choice, 0.0, lower), np.where(choice, 1.0, upper)
    sweep = lower + quasi_random(_SWEEP, dim, rng) * (upper - lower)
    near = np.repeat(incumbents, _NEIGHBOURS, axis=0)
    near = near + 0.1 * rng.standard_normal(near.shape) * (upper - lower) * ~choice
    points = snap(np.clip(np.concatenate([sweep, incumbents, near]), lower, upper))
    worth = acquisition(*posterior.mean_and_deviation(points, t))
    top = points[np.argsort(-worth, kind="stable")[: 4 * _CLIMBERS]]
    starts = _apart(top, 0.02 * (upper - lower), _CLIMBERS)
    climbed = _climb(posterior, acquisition, t, starts, lower, upper)
    finalists = snap(np.concatenate([climbed, top[:1], _flipped(climbed, choice, points)]))
    worth = acquisition(*posterior.mean_and_deviation(finalists, t))
    best: Floats = finalists[int(np.argmax(worth))]
    return best


def _apart(points: Floats, gap: Floats, most: int) -> Floats:
    """Return the first of the points that are not within the gap of one another: climbing twice finds nothing new."""
    kept = [points[0]]
    for point in points[1:]:
        if len(kept) < most and all((np.abs(point - other) > gap).any() for other in kept):
            kept.append(point)
    return np.array(kept)


def _climb(
    posterior: Posterior, acquisition: Acquisition, t: float, starts: Floats, lower: Floats, upper: Floats
) -> Floats:
    """Return where L-BFGS-B leads from all starts, taken as one problem: the sum of their worths. m x D."""
    from scipy.optimize import fmin_l_bfgs_b

    if all(posterior.kernel.is_choice):
        return starts

    def loss(flat: Floats) -> tuple[float, Floats]:
        mean, deviation, d_mean, d_deviation = posterior.gradients(flat.reshape(starts.shape), t)
        by_mean, by_deviation = acquisition.slopes(mean, deviation)
        gradient = by_mean[:, None] * d_mean + by_deviation[:, None] * d_deviation
        return -float(acquisition(mean, deviation).sum()), -gradient.ravel()

    bounds = list(zip(np.tile(lower, len(starts)), np.tile(upper, len(starts)), strict=True))
    found, _, _ = fmin_l_bfgs_b(loss, starts.ravel(), bounds=bounds, maxiter=_STEPS, maxfun=2 * _STEPS, pgtol=1e-4)
    return np.asarray(found).reshape(starts.shape)


def _flipped(points: Floats, choice: Bools, seen: Floats) -> Floats:
    """Return the best climber's point with each Choice coordinate at each value the sweep has seen. m x D."""
    out = []
    for j in np.flatnonzero(choice):
        for value in np.unique(seen[:, j]):
            flipped = points.copy()
            flipped[:, j] = value
            out.append(flipped)
    return np.concatenate(out) if out else points[:0]
