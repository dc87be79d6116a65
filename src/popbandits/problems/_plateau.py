"""A plateau on which no score moves, with noise of training that stays and noise of the score that does not.

Progress p grows by up to 1 in an interval, the more the nearer the hparams are to a centre. Nothing of it shows until p
has passed LENGTH; from then on the score grows with it. All along, training adds a random step to the score of the
weights, for better or worse, and it stays with them and their copies. The report adds an error of its own. So whoever
leads on the plateau is lucky, and what its hparams seem to have gained is chance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from popbandits._random import generator
from popbandits._types import Floats, Hparams
from popbandits.problems._problem import Weights, closeness
from popbandits.space import Float, Space

_LENGTH = 6.0


@dataclass(frozen=True)
class Plateau:
    """Be patient.

    Args:
        dim: the number of hyperparameters.
        drift: the deviation of what training adds at random in an interval.
        seed: of the centre.
    """

    dim: int = 2
    drift: float = 0.3
    seed: int = 0

    @cached_property
    def space(self) -> Space:
        return Space({f"x{j}": Float(0.0, 1.0) for j in range(self.dim)})

    @cached_property
    def centre(self) -> Floats:
        """Where progress is fastest."""
        return generator(self.seed, "plateau").random(self.dim)

    def fresh(self, rng: Generator) -> Weights:
        return np.zeros(2)  # progress, and what chance has added

    def train(self, weights: Weights, hparams: Hparams, interval: int, rng: Generator) -> Weights:
        step = [closeness(self.space, hparams, self.centre), self.drift * rng.standard_normal()]
        return np.asarray(weights + np.array(step))

    def score(self, weights: Weights) -> float:
        return max(0.0, float(weights[0]) - _LENGTH) + float(weights[1])

    def optimum(self, intervals: int) -> float:
        """Return what full progress in every interval is worth, without luck."""
        return max(1.0, intervals - _LENGTH)

    def references(self, intervals: int) -> Mapping[str, Sequence[Hparams]]:
        return {"best constant": [self.space.decode(self.centre)] * intervals}
