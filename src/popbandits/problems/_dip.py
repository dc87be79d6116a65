"""Learning that first costs score, where doing nothing keeps it.

An agent makes progress p, from 0 to 1 in an interval, the more the nearer its hparams are to a centre. Its score is
p − DEPTH · (p/a) · exp(1 − p/a): after two intervals of full progress it is well below where it began, after five it is
above, and then it grows for good. Hparams that make no progress keep the score of 0, and lead for four intervals.
Whoever copies the leader of an early interval copies one who has learned nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from popbandits._random import generator
from popbandits._types import Floats, Hparams
from popbandits.problems._problem import Weights, closeness
from popbandits.space import Float, Space

_DEPTH, _AT = 5.0, 2.5


@dataclass(frozen=True)
class Dip:
    """Learn although it hurts.

    Args:
        dim: the number of hyperparameters.
        seed: of the centre.
    """

    dim: int = 2
    seed: int = 0

    @cached_property
    def space(self) -> Space:
        return Space({f"x{j}": Float(0.0, 1.0) for j in range(self.dim)})

    @cached_property
    def centre(self) -> Floats:
        """Where progress is fastest."""
        return generator(self.seed, "dip").random(self.dim)

    def fresh(self, rng: Generator) -> Weights:
        return np.zeros(1)

    def train(self, weights: Weights, hparams: Hparams, interval: int, rng: Generator) -> Weights:
        return weights + closeness(self.space, hparams, self.centre)

    def score(self, weights: Weights) -> float:
        progress = float(weights[0])
        return progress - _DEPTH * progress / _AT * math.exp(1 - progress / _AT)

    def optimum(self, intervals: int) -> float:
        return max(0.0, self.score(np.array([float(intervals)])))

    def references(self, intervals: int) -> Mapping[str, Sequence[Hparams]]:
        return {"best constant": [self.space.decode(self.centre)] * intervals}
