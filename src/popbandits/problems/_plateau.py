"""A plateau on which no score moves, with noise of training that stays and noise of the score that does not.

Progress p grows by up to 1 in an interval, the more the nearer the hparams are to a centre. Nothing of it shows until p
has passed LENGTH; from then on the score grows with it. All along, training adds a random step to the score of the
weights, for better or worse, and it stays with them and their copies. The report adds an error of its own. So whoever
leads on the plateau is lucky, and what its hparams seem to have gained is chance.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from popbandits._types import Hparams
from popbandits.problems._centred import Centred
from popbandits.problems._problem import Weights

_LENGTH = 6.0


@dataclass(frozen=True)
class Plateau(Centred):
    """Be patient.

    Args:
        drift: the deviation of what training adds at random in an interval.
    """

    drift: float = 0.3

    def fresh(self, rng: Generator) -> Weights:
        return np.zeros(2)  # progress, and what chance has added

    def train(self, weights: Weights, hparams: Hparams, interval: int, rng: Generator) -> Weights:
        step = [self.progress(hparams), self.drift * rng.standard_normal()]
        return np.asarray(weights + np.array(step))

    def score(self, weights: Weights) -> float:
        return max(0.0, float(weights[0]) - _LENGTH) + float(weights[1])

    def optimum(self, intervals: int) -> float:
        """Return what full progress in every interval is worth, without luck."""
        return max(1.0, intervals - _LENGTH)
