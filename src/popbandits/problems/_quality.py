"""Quality: strategies x problems x seeds, as normalised regret with a confidence interval."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from popbandits._errors import OptionError
from popbandits.problems._deceptive import Deceptive
from popbandits.problems._gp_draw import GPDraw
from popbandits.problems._mixed import Mixed
from popbandits.problems._moving_peak import MovingPeak
from popbandits.problems._noisy_sgd import NoisySGD
from popbandits.problems._problem import Problem
from popbandits.problems._quadratic import Quadratic
from popbandits.problems._simulate import simulate
from popbandits.strategies import make_strategy

FAMILIES: dict[str, tuple[Callable[[int], Problem], float]] = {
    "peak-3d": (lambda seed: MovingPeak(3, 0.03, seed=seed), 0.5),
    "peak-6d": (lambda seed: MovingPeak(6, 0.03, seed=seed), 0.5),
    "peak-static": (lambda seed: MovingPeak(3, 0.0, seed=seed), 0.5),
    "peak-jumps": (lambda seed: MovingPeak(2, 0.02, 8, seed=seed), 0.5),
    "peak-noise-1x": (lambda seed: MovingPeak(3, 0.03, seed=seed), 1.0),
    "peak-noise-2x": (lambda seed: MovingPeak(3, 0.03, seed=seed), 2.0),
    "gp-slow": (lambda seed: GPDraw(2, 0.05, seed=seed), 0.5),
    "gp-unlearnable": (lambda seed: GPDraw(2, 0.95, seed=seed), 0.5),
    "quadratic": (lambda _: Quadratic(), 0.5),
    "noisy-sgd": (lambda _: NoisySGD(), 0.1),
    "mixed": (lambda seed: Mixed(seed=seed), 0.5),
    "deceptive": (lambda _: Deceptive(), 0.5),
}
"""Name to the problem for a seed, and the noise of a score in units of the problem's signal."""


@dataclass(frozen=True)
class Cell:
    """The regret of one strategy on one problem, over seeds.

    Args:
        strategy, problem: which.
        regrets: one for each seed; 0 is the optimum, 1 is not having trained.
    """

    strategy: str
    problem: str
    regrets: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean regret."""
        return float(np.mean(self.regrets))

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % confidence interval of the mean."""
        from scipy.special import stdtrit

        n = len(self.regrets)
        return float(stdtrit(n - 1, 0.975) * np.std(self.regrets, ddof=1) / np.sqrt(n)) if n > 1 else float("inf")


def quality(
    strategies: Sequence[str], problems: Sequence[str], *, seeds: int, size: int, intervals: int, workers: int = 1
) -> Iterator[Cell]:
    """Run every strategy on every problem and yield a cell as it is done.

    Args:
        strategies: names for `make_strategy`.
        problems: names in `FAMILIES`.
        seeds: how many runs a cell.
        size, intervals: of the population.
        workers: processes to share the runs.

    Raises:
        OptionError: for a name that is not known, before anything runs.
    """
    for name in strategies:
        make_strategy(name)
    for name in problems:
        if name not in FAMILIES:
            raise OptionError(f"a problem is one of {', '.join(FAMILIES)}, but got {name!r}")
    return _cells(strategies, problems, seeds, size, intervals, workers)


def _cells(
    strategies: Sequence[str], problems: Sequence[str], seeds: int, size: int, intervals: int, workers: int
) -> Iterator[Cell]:
    # Two processes with two BLAS threads each, on two cores, are many times slower than with one each.
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for problem in problems:
            for strategy in strategies:
                one = partial(_one, strategy, problem, size, intervals)
                yield Cell(strategy, problem, tuple(pool.map(one, range(seeds))))


def _one(strategy: str, problem: str, size: int, intervals: int, seed: int) -> float:
    make, noise = FAMILIES[problem]
    outcome = simulate(make(seed), make_strategy(strategy), size=size, intervals=intervals, seed=seed, noise=noise)
    return outcome.regret
