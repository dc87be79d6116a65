"""Maximising an acquisition over a box of the unit cube: a sweep, then a climb from the best of it.

Int and Choice coordinates are snapped to their values before anything is compared: what is returned is the best point
that can be tried. While climbing, Int coordinates are relaxed and Choice coordinates stay.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from popbandits._random import quasi_random
from popbandits._types import Bools, Floats
from popbandits.bandit._acquisition import Acquisition
from popbandits.gp import Posterior

Snap = Callable[[Floats], Floats]

_SWEEP = 512
_NEIGHBOURS = 8
_CLIMBERS = 4
_STEPS = 8
_CLIMB_ROWS = 256  # climbing needs the way up, not the exact height: that is asked of the finalists


@dataclass(frozen=True)
class Box:
    """Where and when to search.

    Args:
        t: the interval to come.
        lower, upper: the corners, D each, within the unit cube. Choice coordinates are free whatever they say.
        incumbents: points known to be good, m x D; they and their neighbourhoods join the sweep.
    """

    t: float
    lower: Floats
    upper: Floats
    incumbents: Floats

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[float, bytes, bytes, bytes]:
        return self.t, self.lower.tobytes(), self.upper.tobytes(), self.incumbents.tobytes()


@dataclass(frozen=True)
class Sweep:
    """Points that fill a box, with what is believed of them; cheap to bring up to date when a row comes in training.

    Args:
        points: m x D, snapped.
        mean: of f at the points, m.
        halves: see `Posterior.halves`.
    """

    points: Floats
    mean: Floats
    halves: Floats


def sweep_box(posterior: Posterior, box: Box, snap: Snap, rng: np.random.Generator) -> Sweep:
    """Return a quasi-random sweep of a box with its incumbents and their neighbours."""
    choice = np.array(posterior.kernel.is_choice, dtype=bool)
    lower, upper = _freed(box, choice)
    points = lower + quasi_random(_SWEEP, len(lower), rng) * (upper - lower)
    near = np.repeat(box.incumbents, _NEIGHBOURS, axis=0)
    near = near + 0.1 * rng.standard_normal(near.shape) * (upper - lower) * ~choice
    points = snap(np.clip(np.concatenate([points, box.incumbents, near]), lower, upper))
    return Sweep(points, posterior.mean(points, box.t), posterior.halves(points, box.t))


def refreshed(sweep: Sweep, posterior: Posterior, t: float) -> Sweep:
    """Return the sweep as it is believed by a posterior with more rows in training than it was made for."""
    return replace(sweep, halves=posterior.halves(sweep.points, t, sweep.halves))


def maximise(posterior: Posterior, acquisition: Acquisition, box: Box, sweep: Sweep, snap: Snap) -> Floats:
    """Return the point of the box worth most, shape (D,).

    Args:
        posterior: what is believed of f.
        acquisition: what a belief is worth.
        box: where and when.
        sweep: of the box, up to date with the posterior.
        snap: moves points to where Int and Choice have values.
    """
    if len(box.lower) == 0:
        return np.zeros(0)
    choice = np.array(posterior.kernel.is_choice, dtype=bool)
    lower, upper = _freed(box, choice)
    worth = acquisition(sweep.mean, posterior.deviation(sweep.halves))
    top = sweep.points[np.argsort(-worth, kind="stable")[: 4 * _CLIMBERS]]
    starts = _apart(top, 0.02 * (upper - lower), _CLIMBERS)
    climbed = _climb(posterior.near(starts, box.t, _CLIMB_ROWS), acquisition, box.t, starts, lower, upper)
    finalists = snap(np.concatenate([climbed, top[:1], _flipped(climbed, choice, sweep.points)]))
    worth = acquisition(*posterior.mean_and_deviation(finalists, box.t))
    best: Floats = finalists[int(np.argmax(worth))]
    return best


def _freed(box: Box, choice: Bools) -> tuple[Floats, Floats]:
    return np.where(choice, 0.0, box.lower), np.where(choice, 1.0, box.upper)


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
    """Return the climbers with each Choice coordinate at each value the sweep has seen. m x D."""
    out = []
    for j in np.flatnonzero(choice):
        for value in np.unique(seen[:, j]):
            flipped = points.copy()
            flipped[:, j] = value
            out.append(flipped)
    return np.concatenate(out) if out else points[:0]
