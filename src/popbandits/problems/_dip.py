"""Learning that first costs score, where doing nothing keeps it.

An agent makes progress p, from 0 to 1 in an interval, the more the nearer its hparams are to a centre. Its score is
p − DEPTH · (p/a) · exp(1 − p/a): after two intervals of full progress it is well below where it began, after five it is
above, and then it grows for good. Hparams that make no progress keep the score of 0, and lead for four intervals.
Whoever copies the leader of an early interval copies one who has learned nothing.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from popbandits._types import Hparams
from popbandits.problems._centred import Centred
from popbandits.problems._problem import Weights

_DEPTH, _AT = 5.0, 2.5


@dataclass(frozen=True)
class Dip(Centred):
    """Learn although it hurts."""

    def fresh(self, rng: Generator) -> Weights:
        return np.zeros(1)

    def train(self, weights: Weights, hparams: Hparams, interval: int, rng: Generator) -> Weights:
        return weights + self.progress(hparams)

    def score(self, weights: Weights) -> float:
        progress = float(weights[0])
        return progress - _DEPTH * progress / _AT * math.exp(1 - progress / _AT)

    def optimum(self, intervals: int) -> float:
        return max(0.0, self.score(np.array([float(intervals)])))
