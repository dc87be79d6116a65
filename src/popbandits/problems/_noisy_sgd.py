"""SGD on a noisy quadratic, whose best learning-rate schedule is known.

For the loss ½θ² with gradient θ + ε, ε ~ N(0, σ²), a step with learning rate a turns v = E[θ²] into (1−a)² v + a² σ².
After k steps with the same a: v_k = r^k v + a² σ² (1 − r^k)/(1 − r), r = (1−a)². It grows with v, so the schedule that
minimises v_k in every interval is the best of all: large steps first, ever smaller ones later. The score is −log₁₀ v.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from popbandits._types import Floats, Hparams
from popbandits.problems._problem import Weights
from popbandits.space import Float, Space

_FRESH = np.array([100.0])


@dataclass(frozen=True)
class NoisySGD:
    """Learn to decay a learning rate.

    Args:
        noise: σ, of the gradient.
        steps: k, SGD steps in an interval.
    """

    noise: float = 1.0
    steps: int = 20

    @cached_property
    def space(self) -> Space:
        return Space({"lr": Float(1e-4, 1.0, log=True)})

    def fresh(self, rng: Generator) -> Weights:
        return _FRESH

    def train(self, weights: Weights, hparams: Hparams, interval: int, rng: Generator) -> Weights:
        return self._after(weights, np.array([hparams["lr"]]))

    def score(self, weights: Weights) -> float:
        return float(-np.log10(weights[0]))

    def optimum(self, intervals: int) -> float:
        weights = _FRESH
        rates = np.logspace(-4, 0, 20001)
        for _ in range(intervals):
            weights = self._after(weights, rates).min(keepdims=True)
        return self.score(weights)

    def _after(self, v: Floats, rate: Floats) -> Floats:
        r = (1.0 - rate) ** 2
        shrunk = r**self.steps
        return shrunk * v + rate**2 * self.noise**2 * (1.0 - shrunk) / (1.0 - r)
