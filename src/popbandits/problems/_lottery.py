"""A lottery of starts whose promise no early score tells.

Fresh weights draw a talent, and copies take it over. Up to STAGE all weights gain alike, the more the nearer the
hparams are to a centre. Beyond it the gain is multiplied by the talent: 1 for one start in four, a quarter for the
rest. A population that copies the leader early on is left with one talent, and most likely it is not the best.
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

_STAGE = 5.0
_TALENTS = (1.0, 0.25, 0.25, 0.25)


@dataclass(frozen=True)
class Lottery:
    """Keep more than one ticket.

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
        return generator(self.seed, "lottery").random(self.dim)

    def fresh(self, rng: Generator) -> Weights:
        return np.array([0.0, rng.choice(_TALENTS)])  # progress and talent

    def train(self, weights: Weights, hparams: Hparams, interval: int, rng: Generator) -> Weights:
        return np.asarray(weights + np.array([closeness(self.space, hparams, self.centre), 0.0]))

    def score(self, weights: Weights) -> float:
        progress, talent = float(weights[0]), float(weights[1])
        return min(progress, _STAGE) + talent * max(0.0, progress - _STAGE)

    def optimum(self, intervals: int) -> float:
        return float(intervals)

    def references(self, intervals: int) -> Mapping[str, Sequence[Hparams]]:
        return {"best constant": [self.space.decode(self.centre)] * intervals}
