"""A trust region: a box around the donor's hparams, within which the model is believed.

A GP with few, noisy rows is least certain in the corners of the cube, and an upper confidence bound goes where it is
least certain: in four dimensions, nearly always to a corner. The donor's hparams have just been seen to work. The sides
of the box follow the learned lengthscales, and its size follows success: it grows while agents that explored do better
than those that did not, and shrinks while they do worse.
"""

import math

import numpy as np

from popbandits._types import Floats
from popbandits.population import View

START = 0.5
_SMALLEST, _LARGEST = 0.1, 1.6
_STEP = 1.3


def region(centre: Floats, lengthscales: tuple[float, ...], size: float, numeric: list[bool]) -> tuple[Floats, Floats]:
    """Return the corners of the box within the cube, D each. `size` is the geometric mean of its sides, unclipped."""
    lower, upper = np.zeros_like(centre), np.ones_like(centre)
    if not lengthscales:
        return lower, upper
    scales = np.clip(np.array(lengthscales), 1e-3, 1e3)
    half = 0.5 * size * scales / math.exp(float(np.mean(np.log(scales))))
    at = centre[numeric]
    lower[numeric], upper[numeric] = np.clip(at - half, 0, 1), np.clip(at + half, 0, 1)
    return lower, upper


def resized(view: View, due: tuple[int, ...], size: float) -> float:
    """Return the size of the box after what the due agents have just reported."""
    history = view.history
    rows = [row for row in view.last if row >= 0]
    gained = {row: float(history.improvement[row]) for row in rows if np.isfinite(history.improvement[row])}
    moved = [row for row in gained if history.donor[row] != history.agent[row]]
    stayed = [gained[row] for row in gained if row not in moved]
    judged = [row for row in moved if int(history.agent[row]) in due]
    if not judged or not stayed:
        return size
    won = sum(gained[row] > float(np.median(stayed)) for row in judged) / len(judged)
    return min(_LARGEST, max(_SMALLEST, size * math.pow(_STEP, 2.0 * won - 1.0)))
