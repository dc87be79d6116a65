"""Float, Int and Choice together: each value of the Choice has its own peak, and their heights change places."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from popbandits._random import generator
from popbandits._types import Hparams
from popbandits.problems._moving_peak import MovingPeak
from popbandits.problems._problem import Weights
from popbandits.space import Choice, Float, Int, Space

_KINDS = ("a", "b", "c")
_DEPTHS = 8
_PERIOD = 40


@dataclass(frozen=True)
class Mixed:
    """A learning rate, a depth and a kind; the best kind changes in the course of a run.

    Args:
        drift: of each kind's peak, see `MovingPeak`.
        seed: of everything.
    """

    drift: float = 0.02
    seed: int = 0

    @cached_property
    def space(self) -> Space:
        return Space({"lr": Float(1e-4, 1.0, log=True), "depth": Int(1, _DEPTHS), "kind": Choice(*_KINDS)})

    @cached_property
    def _peaks(self) -> dict[str, MovingPeak]:
        return {kind: MovingPeak(1, self.drift, seed=7 * self.seed + i) for i, kind in enumerate(_KINDS)}

    @cached_property
    def _best_depths(self) -> dict[str, int]:
        drawn = generator(self.seed, "depths").integers(1, _DEPTHS + 1, len(_KINDS))
        return dict(zip(_KINDS, drawn.tolist(), strict=True))

    def height(self, kind: str, interval: int) -> float:
        """Return what a kind earns at its peak, from 0.4 to 1: they take turns."""
        turn = interval / _PERIOD + _KINDS.index(kind) / len(_KINDS) + self.seed * 0.382
        return 0.7 + 0.3 * math.cos(2 * math.pi * turn)

    def fresh(self, rng: Generator) -> Weights:
        return np.zeros(1)

    def train(self, weights: Weights, hparams: Hparams, interval: int, rng: Generator) -> Weights:
        kind = hparams["kind"]
        at = self.space.params["lr"].to_unit(hparams["lr"])
        off = (at - float(self._peaks[kind].centres[interval - 1, 0])) ** 2
        off += ((hparams["depth"] - self._best_depths[kind]) / (_DEPTHS - 1)) ** 2
        return weights + self.height(kind, interval) * math.exp(-0.5 * off / 0.3**2)

    def score(self, weights: Weights) -> float:
        return float(weights[0])

    def optimum(self, intervals: int) -> float:
        return sum(max(self.height(kind, t) for kind in _KINDS) for t in range(1, intervals + 1))
