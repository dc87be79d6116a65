"""The toy problem of the PBT paper: maximise 1.2 − θ₀² − θ₁² by gradient ascent on 1.2 − h₀θ₀² − h₁θ₁²."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from popbandits._types import Hparams
from popbandits.problems._problem import Weights
from popbandits.space import Float, Space

_RATE, _STEPS = 0.01, 5
_FRESH = np.array([0.9, 0.9])


@dataclass(frozen=True)
class Quadratic:
    """The surrogate's coefficients h are the hyperparameters; h = (1, 1) is best in every interval."""

    @cached_property
    def space(self) -> Space:
        return Space({"h0": Float(0.0, 1.0), "h1": Float(0.0, 1.0)})

    def fresh(self, rng: Generator) -> Weights:
        return _FRESH

    def train(self, weights: Weights, hparams: Hparams, interval: int, rng: Generator) -> Weights:
        return weights * (1.0 - 2.0 * _RATE * np.array([hparams["h0"], hparams["h1"]])) ** _STEPS

    def score(self, weights: Weights) -> float:
        return float(1.2 - (weights**2).sum())

    def optimum(self, intervals: int) -> float:
        return self.score(_FRESH * (1.0 - 2.0 * _RATE) ** (_STEPS * intervals))
