"""The theory's own world: f_1 = g_1, f_{t+1} = √(1−ω) f_t + √ω g_{t+1}, each g drawn from a GP; the score is Σ f_t.

A draw is a sum of M random Fourier features: f(x) = √(2/M) Σ_m w_m cos(z_mᵀx + b_m), with z ~ N(0, 1/ℓ²). The weights w
follow the recursion, so f_t is exactly the process above, for the kernel that the M features define.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from popbandits._errors import OptionError
from popbandits._random import generator, quasi_random
from popbandits._types import Floats, Hparams
from popbandits.problems._problem import LONGEST, Weights
from popbandits.space import Float, Space

_FEATURES = 256


@dataclass(frozen=True)
class GPDraw:
    """A function drawn from the model that PB2 assumes.

    Args:
        dim: the number of hyperparameters.
        omega: how fast the function changes: 0 never, 1 anew in each interval.
        lengthscale: of the squared-exponential kernel.
        seed: of the draw.
    """

    dim: int = 2
    omega: float = 0.05
    lengthscale: float = 0.3
    seed: int = 0

    @cached_property
    def space(self) -> Space:
        return Space({f"x{j}": Float(0.0, 1.0) for j in range(self.dim)})

    @cached_property
    def _features(self) -> tuple[Floats, Floats, Floats]:
        """The frequencies (M x dim), the phases (M) and the weights of each interval (LONGEST x M)."""
        rng = generator(self.seed, "gp draw")
        frequencies = rng.standard_normal((_FEATURES, self.dim)) / self.lengthscale
        phases = rng.uniform(0, 2 * np.pi, _FEATURES)
        weights = rng.standard_normal((LONGEST, _FEATURES))
        for t in range(1, LONGEST):
            weights[t] = np.sqrt(1 - self.omega) * weights[t - 1] + np.sqrt(self.omega) * weights[t]
        return frequencies, phases, weights * np.sqrt(2 / _FEATURES)

    def f(self, interval: int, x: Floats) -> Floats:
        """Return f_t at the points x (m x dim), length m."""
        frequencies, phases, weights = self._features
        return np.asarray(np.cos(x @ frequencies.T + phases) @ weights[self._index(interval)])

    @cached_property
    def _sweep(self) -> tuple[Floats, Floats]:
        """Points that fill the cube, and their features."""
        frequencies, phases, _ = self._features
        points = quasi_random(4096, self.dim, generator(self.seed, "maxima"))
        return points, np.cos(points @ frequencies.T + phases)

    @cached_property
    def _maxima(self) -> dict[int, float]:
        return {}

    def maximum(self, interval: int) -> float:
        """Return the maximum of f_t over the cube: a dense sweep, then a climb from its best points."""
        if interval not in self._maxima:
            self._maxima[interval] = self._climbed(interval)
        return self._maxima[interval]

    def _climbed(self, interval: int) -> float:
        frequencies, phases, weights = self._features
        points, features = self._sweep
        w = weights[self._index(interval)]
        x = points[np.argsort(-(features @ w))[:8]]
        step = np.full(len(x), 0.05)
        best = self.f(interval, x)
        for _ in range(60):  # ascent with a step that halves when it fails
            slope = -(np.sin(x @ frequencies.T + phases) * w) @ frequencies
            trial = np.clip(x + step[:, None] * slope / (np.linalg.norm(slope, axis=1, keepdims=True) + 1e-12), 0, 1)
            value = self.f(interval, trial)
            better = value > best
            x, best = np.where(better[:, None], trial, x), np.where(better, value, best)
            step = np.where(better, step * 1.2, step * 0.5)
        return float(best.max())

    def _index(self, interval: int) -> int:
        if interval > LONGEST:
            raise OptionError(f"a problem has {LONGEST} intervals, but got interval {interval}")
        return interval - 1

    def fresh(self, rng: Generator) -> Weights:
        return np.zeros(1)

    def train(self, weights: Weights, hparams: Hparams, interval: int, rng: Generator) -> Weights:
        x = np.array([[hparams[f"x{j}"] for j in range(self.dim)]])
        return weights + self.f(interval, x)

    def score(self, weights: Weights) -> float:
        return float(weights[0])

    def optimum(self, intervals: int) -> float:
        return sum(self.maximum(t) for t in range(1, intervals + 1))
