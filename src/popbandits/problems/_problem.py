"""The contract of a problem: weights that are trained, a score of them, and the best score there can be."""

from typing import Protocol

import numpy as np

from popbandits._random import generator
from popbandits._types import Floats, Hparams
from popbandits.space import Space

Weights = Floats
"""All that an agent is: a short vector."""


LONGEST = 1000
"""Intervals that problems which change are drawn for."""


class Problem(Protocol):
    """Something to train, cheap enough to be trained ten thousand times."""

    @property
    def space(self) -> Space:
        """What the hparams may be."""

    def fresh(self) -> Weights:
        """Return untrained weights."""

    def train(self, weights: Weights, hparams: Hparams, interval: int) -> Weights:
        """Return the weights after one interval, from 1."""

    def score(self, weights: Weights) -> float:
        """Return the exact score; an agent reports it with noise."""

    def optimum(self, intervals: int) -> float:
        """Return the highest score that any schedule reaches after so many intervals."""


def signal_size(problem: Problem, draws: int = 256) -> float:
    """Return the deviation of the first interval's improvement over hparams drawn uniformly: the unit of noise."""
    rng = generator(0, "signal")
    weights = problem.fresh()
    scores = [problem.score(problem.train(weights, problem.space.sample(rng), 1)) for _ in range(draws)]
    return float(np.std(scores))
