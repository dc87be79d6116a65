"""What a point is worth trying: a function of the mean and the deviation there, with its slopes in both."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from popbandits._types import Floats


class Acquisition(Protocol):
    """The worth of points from their mean and deviation, each of length m."""

    def __call__(self, mean: Floats, deviation: Floats) -> Floats:
        """Return the worth, m."""

    def slopes(self, mean: Floats, deviation: Floats) -> tuple[Floats, Floats]:
        """Return d worth / d mean and d worth / d deviation, m each."""


@dataclass(frozen=True)
class UpperConfidenceBound:
    """Equation 7: μ + √β σ. The *deviation* σ, not the variance.

    Examples:
        >>> UpperConfidenceBound(4.0)(np.array([1.0]), np.array([0.5]))
        array([2.])
    """

    beta: float

    def __call__(self, mean: Floats, deviation: Floats) -> Floats:
        return mean + math.sqrt(self.beta) * deviation

    def slopes(self, mean: Floats, deviation: Floats) -> tuple[Floats, Floats]:
        return np.ones_like(mean), np.full_like(deviation, math.sqrt(self.beta))


@dataclass(frozen=True)
class ExpectedImprovement:
    """E[max(0, f − best)] under f ~ N(μ, σ²): (μ − best) Φ(z) + σ φ(z), z = (μ − best)/σ.

    Examples:
        >>> ExpectedImprovement(0.0)(np.array([0.0]), np.array([1.0])).round(4)
        array([0.3989])
    """

    best: float

    def __call__(self, mean: Floats, deviation: Floats) -> Floats:
        cdf, pdf = self._normal(mean, deviation)
        return (mean - self.best) * cdf + deviation * pdf

    def slopes(self, mean: Floats, deviation: Floats) -> tuple[Floats, Floats]:
        return self._normal(mean, deviation)

    def _normal(self, mean: Floats, deviation: Floats) -> tuple[Floats, Floats]:
        from scipy.special import ndtr

        z = (mean - self.best) / deviation
        cdf: Floats = ndtr(z)
        return cdf, np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
