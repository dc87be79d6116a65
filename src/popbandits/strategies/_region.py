"""A trust region: a box around hparams that have just been seen to work, within which the model is believed.

A GP with few, noisy rows is least certain in the corners of the cube, and an upper confidence bound goes where it is
least certain: in four dimensions, nearly always to a corner. A lengthscale is how far one must go for the function to
be another, so the sides of the box are half of it: what hardly matters is searched from end to end. The box grows with
what is forgotten: what worked an interval ago tells less about the next the larger ω is. A size that grew with success
and shrank with failure followed the noise of three comparisons an interval, and did worse (docs/study.md).
"""

import math

import numpy as np

from popbandits._types import Floats

_SIDE = 0.5


def region(centre: Floats, lengthscales: tuple[float, ...], omega: float, numeric: list[bool]) -> tuple[Floats, Floats]:
    """Return the corners of the box within the cube, D each: sides of ½ ℓ / √(1−ω) along numbers, choices free."""
    lower, upper = np.zeros_like(centre), np.ones_like(centre)
    half = 0.5 * _SIDE * np.clip(np.array(lengthscales), 1e-3, 1e3) / math.sqrt(1.0 - omega)
    at = centre[numeric]
    lower[numeric], upper[numeric] = np.clip(at - half, 0, 1), np.clip(at + half, 0, 1)
    return lower, upper
