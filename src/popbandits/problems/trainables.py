"""Problems as trainables, so that the whole engine can be tried without a framework: `popbandits run noisy-sgd`."""

import json
from pathlib import Path
from typing import ClassVar

import numpy as np

from popbandits._types import Hparams
from popbandits.problems._deceptive import Deceptive
from popbandits.problems._ill_conditioned import IllConditioned
from popbandits.problems._mixed import Mixed
from popbandits.problems._moving_peak import MovingPeak
from popbandits.problems._noisy_sgd import NoisySGD
from popbandits.problems._problem import Problem
from popbandits.problems._quadratic import Quadratic
from popbandits.space import Space


class _ProblemTrainable:
    """An agent on a problem: the weights and how many intervals they have trained."""

    problem: ClassVar[Problem]
    space: ClassVar[Space]

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.weights, self.intervals = self.problem.fresh(self.rng), 0

    def step(self, hparams: Hparams) -> float:
        self.intervals += 1
        self.weights = self.problem.train(self.weights, hparams, self.intervals, self.rng)
        return self.problem.score(self.weights)

    def reseed(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def save(self, path: Path) -> None:
        np.save(path / "weights.npy", self.weights)
        counters = {"intervals": self.intervals, "random": self.rng.bit_generator.state}
        (path / "counters.json").write_text(json.dumps(counters))

    def load(self, path: Path) -> None:
        self.weights = np.load(path / "weights.npy", allow_pickle=False)
        counters = json.loads((path / "counters.json").read_text())
        self.intervals, self.rng.bit_generator.state = counters["intervals"], counters["random"]


class NoisySGDAgent(_ProblemTrainable):
    """Learn to decay a learning rate."""

    problem = NoisySGD()
    space = problem.space


class QuadraticAgent(_ProblemTrainable):
    """The toy problem of the PBT paper."""

    problem = Quadratic()
    space = problem.space


class MovingPeakAgent(_ProblemTrainable):
    """Follow a peak in three dimensions."""

    problem = MovingPeak(3, 0.03)
    space = problem.space


class MixedAgent(_ProblemTrainable):
    """Float, Int and Choice together."""

    problem = Mixed()
    space = problem.space


class DeceptiveAgent(_ProblemTrainable):
    """Where greed loses."""

    problem = Deceptive()
    space = problem.space


class IllConditionedAgent(_ProblemTrainable):
    """Real SGD on an ill-conditioned noisy quadratic."""

    problem = IllConditioned()
    space = problem.space


BUILT_IN = {
    "noisy-sgd": NoisySGDAgent,
    "quadratic": QuadraticAgent,
    "moving-peak": MovingPeakAgent,
    "mixed": MixedAgent,
    "deceptive": DeceptiveAgent,
    "ill-conditioned": IllConditionedAgent,
}
"""The names that `popbandits run` knows."""
