"""The theory's own world: f_1 = g_1, f_{t+1} = √(1−ω) f_t + √ω g_{t+1}, each g drawn from a GP; the score is Σ f_t.

A draw is a sum of M random Fourier features: f(x) = √(2/M) Σ_m w_m cos(z_mᵀx + b_m), with z ~ N(0, 1/ℓ²). The weights w
follow the recursion, so f_t is exactly the process above, for the kernel that the M features define.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from popbandits._random import generator, quasi_random
from popbandits._types import Floats, Hparams
from popbandits.problems._problem import Weights
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
        longest: intervals drawn.
    """

    dim: int = 2
    omega: float = 0.05
    lengthscale: float = 0.3
    seed: int = 0
    longest: int = 100

    @cached_property
    def space(self) -> Space:
        return Space({f"x{j}": Float(0.0, 1.0) for j in range(self.dim)})

    @cached_property
    def _features(self) -> tuple[Floats, Floats, Floats]:
        """The frequencies (M x dim), the phases (M) and the weights of each interval (longest x M)."""
        rng = generator(self.seed, "gp draw")
        frequencies = rng.standard_normal((_FEATURES, self.dim)) / self.lengthscale
        phases = rng.uniform(0, 2 * np.pi, _FEATURES)
        weights = rng.standard_normal((self.longest, _FEATURES))
        for t in range(1, self.longest):
            weights[t] = np.sqrt(1 - self.omega) * weights[t - 1] + np.sqrt(self.omega) * weights[t]
        return frequencies, phases, weights * np.sqrt(2 / _FEATURES)

    def f(self, interval: int, x: Floats) -> Floats:
        """Return f_t at the points x (m x dim), length m."""
        frequencies, phases, weights = self._features
        return np.asarray(np.cos(x @ frequencies.T + phases) @ weights[interval - 1])

    @cached_property
    def maxima(self) -> Floats:
        """The maximum of f_t over the cube for each interval: a dense sweep, then a climb from its best points."""
        frequencies, phases, weights = self._features
        points = quasi_random(4096, self.dim, generator(self.seed, "maxima"))
        features = np.cos(points @ frequencies.T + phases)
        values = features @ weights.T
        found = np.empty(self.longest)
        for t in range(self.longest):
            x = points[np.argsort(-values[:, t])[:8]]
            step = np.full(len(x), 0.05)
            best = self.f(t + 1, x)
            for _ in range(60):  # ascent with a step that halves when it fails
                slope = -(np.sin(x @ frequencies.T + phases) * weights[t]) @ frequencies
                trial = np.clip(
                    x + step[:, None] * slope / (np.linalg.norm(slope, axis=1, keepdims=True) + 1e-12), 0, 1
                )
                value = self.f(t + 1, trial)
                better = value > best
                x, best = np.where(better[:, None], trial, x), np.where(better, value, best)
                step = np.where(better, step * 1.2, step * 0.5)
            found[t] = best.max()
        return found

    def fresh(self) -> Weights:
        return np.zeros(1)

    def train(self, weights: Weights, hparams: Hparams, interval: int) -> Weights:
        x = np.array([[hparams[f"x{j}"] for j in range(self.dim)]])
        return weights + self.f(interval, x)

    def score(self, weights: Weights) -> float:
        return float(weights[0])

    def optimum(self, intervals: int) -> float:
        return float(self.maxima[:intervals].sum())
