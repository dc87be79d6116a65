"""A lottery of starts whose promise no early score tells.

Fresh weights draw a talent, and copies take it over. Up to STAGE all weights gain alike, the more the nearer the
hparams are to a centre. Beyond it the gain is multiplied by the talent: 1 for one start in four, a quarter for the
rest. A population that copies the leader early on is left with one talent, and most likely it is not the best.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from popbandits._types import Hparams
from popbandits.problems._centred import Centred
from popbandits.problems._problem import Weights

_STAGE = 5.0
_TALENTS = (1.0, 0.25, 0.25, 0.25)


@dataclass(frozen=True)
class Lottery(Centred):
    """Keep more than one ticket."""

    def fresh(self, rng: Generator) -> Weights:
        return np.array([0.0, rng.choice(_TALENTS)])  # progress and talent

    def train(self, weights: Weights, hparams: Hparams, interval: int, rng: Generator) -> Weights:
        return np.asarray(weights + np.array([self.progress(hparams), 0.0]))

    def score(self, weights: Weights) -> float:
        progress, talent = float(weights[0]), float(weights[1])
        return min(progress, _STAGE) + talent * max(0.0, progress - _STAGE)

    def optimum(self, intervals: int) -> float:
        return float(intervals)
