"""A trust region: a box around hparams that have just been seen to work, within which the model is believed.

A GP with few, noisy rows is least certain in the corners of the cube, and an upper confidence bound goes where it is
least certain: in four dimensions, nearly always to a corner. The sides of the box follow the learned lengthscales. Its
size follows ω: what worked an interval ago tells less about the next the faster the function forgets, and the box
grows; with nothing left to remember it is the cube. A size that grew with success and shrank with failure followed the
noise of three comparisons an interval, and did worse (docs/study.md).
"""

import math

import numpy as np

from popbandits._types import Floats

_SIDE = 0.35


def region(centre: Floats, lengthscales: tuple[float, ...], omega: float, numeric: list[bool]) -> tuple[Floats, Floats]:
    """Return the corners of the box within the cube, D each.

    The geometric mean of its sides, before the cube cuts them, is 0.35 / √(1−ω): 0.35 over the correlation between one
    interval and the next.
    """
    lower, upper = np.zeros_like(centre), np.ones_like(centre)
    if not lengthscales:
        return lower, upper
    scales = np.clip(np.array(lengthscales), 1e-3, 1e3)
    half = 0.5 * _SIDE / math.sqrt(1.0 - omega) * scales / math.exp(float(np.mean(np.log(scales))))
    at = centre[numeric]
    lower[numeric], upper[numeric] = np.clip(at - half, 0, 1), np.clip(at + half, 0, 1)
    return lower, upper
