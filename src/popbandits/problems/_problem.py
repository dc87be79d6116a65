"""The contract of a problem: weights that are trained, a score of them, and the best score that is known."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator

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

    def fresh(self, rng: Generator) -> Weights:
        """Return untrained weights; most problems have one start only and draw nothing."""

    def train(self, weights: Weights, hparams: Hparams, interval: int, rng: Generator) -> Weights:
        """Return the weights after one interval, from 1; training may draw random numbers."""

    def score(self, weights: Weights) -> float:
        """Return the exact score; an agent reports it with noise."""

    def optimum(self, intervals: int) -> float:
        """Return the highest score that any schedule reaches after so many intervals, in expectation.

        Where that is not known, it is the score of a good schedule that a search has found.
        """


@runtime_checkable
class Referenced(Problem, Protocol):
    """A problem with schedules to compare with, beside its optimum or in its stead."""

    def references(self, intervals: int) -> Mapping[str, Sequence[Hparams]]:
        """Return by name the hparams of each interval: "best constant" and, where it is better, "good schedule"."""


def along(start: Floats, end: Floats, intervals: int) -> Floats:
    """Return the points of a straight line, intervals x dim."""
    return np.linspace(start, end, intervals)


def signal_size(problem: Problem, draws: int = 256) -> float:
    """Return the deviation of the first interval's improvement over hparams drawn uniformly: the unit of noise."""
    rng = generator(0, "signal")
    weights = problem.fresh(rng)
    scores = [problem.score(problem.train(weights, problem.space.sample(rng), 1, rng)) for _ in range(draws)]
    return float(np.std(scores))
