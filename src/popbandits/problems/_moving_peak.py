"""A peak that moves through the cube: the score grows by f_t(x) = exp(−½ |x − c_t|² / w²) in interval t."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from popbandits._errors import OptionError
from popbandits._random import generator
from popbandits._types import Floats, Hparams
from popbandits.problems._problem import LONGEST, Weights
from popbandits.space import Float, Space


@dataclass(frozen=True)
class MovingPeak:
    """The optimum drifts as a random walk and may jump.

    Args:
        dim: the number of hyperparameters.
        drift: the deviation of the centre's step in each coordinate and interval.
        jump_every: intervals between jumps to a new place; 0 for none.
        seed: of the walk.
    """

    dim: int = 3
    drift: float = 0.03
    jump_every: int = 0
    seed: int = 0

    @cached_property
    def space(self) -> Space:
        return Space({f"x{j}": Float(0.0, 1.0) for j in range(self.dim)})

    @cached_property
    def centres(self) -> Floats:
        """The peak's place in each interval, 1000 x dim."""
        rng = generator(self.seed, "moving peak")
        steps = self.drift * rng.standard_normal((LONGEST, self.dim))
        jumps = rng.random((LONGEST, self.dim))
        at = jumps[0]
        centres = np.empty((LONGEST, self.dim))
        for t in range(LONGEST):
            at = jumps[t] if self.jump_every and t and t % self.jump_every == 0 else at + steps[t]
            at = 1.0 - np.abs(1.0 - np.abs(at))  # a walk that meets a wall turns back
            centres[t] = at
        return centres

    def fresh(self, rng: Generator) -> Weights:
        return np.zeros(1)

    def train(self, weights: Weights, hparams: Hparams, interval: int, rng: Generator) -> Weights:
        if interval > LONGEST:
            raise OptionError(f"a problem has {LONGEST} intervals, but got interval {interval}")
        x = np.array([hparams[f"x{j}"] for j in range(self.dim)])
        width = 0.2 * math.sqrt(self.dim)
        off = float(((x - self.centres[interval - 1]) ** 2).sum())
        return weights + math.exp(-0.5 * off / width**2)

    def score(self, weights: Weights) -> float:
        return float(weights[0])

    def optimum(self, intervals: int) -> float:
        return float(intervals)
