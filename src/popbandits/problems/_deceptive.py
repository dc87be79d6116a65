"""Where greed loses: an interval's gain is bought with later gains.

An agent holds capital c. The share x of an interval that it spends earns x · c; the rest grows the capital to
c · (1 + g (1 − x)). The score is what was earned. It is linear in each x, so the best schedule first saves all and then
spends all, and its score is the largest of (1 + g)^s · (T − s) over the switch s. Whoever copies the leader of an early
interval copies one who saved nothing.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from popbandits._types import Hparams
from popbandits.problems._problem import Weights
from popbandits.space import Float, Space


@dataclass(frozen=True)
class Deceptive:
    """Spend now or grow.

    Args:
        growth: g, what saving all of an interval adds to the capital.
    """

    growth: float = 0.15

    @cached_property
    def space(self) -> Space:
        return Space({"spend": Float(0.0, 1.0)})

    def fresh(self, rng: Generator) -> Weights:
        return np.array([0.0, 1.0])

    def train(self, weights: Weights, hparams: Hparams, interval: int, rng: Generator) -> Weights:
        earned, capital = weights
        spend = hparams["spend"]
        return np.array([earned + spend * capital, capital * (1.0 + self.growth * (1.0 - spend))])

    def score(self, weights: Weights) -> float:
        return float(weights[0])

    def optimum(self, intervals: int) -> float:
        return max((1.0 + self.growth) ** s * (intervals - s) for s in range(intervals))
