"""Quality: strategies x problems x seeds, as normalised regret with a confidence interval."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from popbandits._errors import OptionError
from popbandits.population import Strategy
from popbandits.problems._deceptive import Deceptive
from popbandits.problems._dip import Dip
from popbandits.problems._gp_draw import GPDraw
from popbandits.problems._ill_conditioned import IllConditioned
from popbandits.problems._lottery import Lottery
from popbandits.problems._mixed import Mixed
from popbandits.problems._moving_peak import MovingPeak
from popbandits.problems._noisy_sgd import NoisySGD
from popbandits.problems._plateau import Plateau
from popbandits.problems._problem import Problem, Referenced
from popbandits.problems._quadratic import Quadratic
from popbandits.problems._simulate import Simulated, simulate
from popbandits.strategies import FixedSchedule, make_strategy


class Family(NamedTuple):
    """Problems of one kind.

    Args:
        make: from a seed to a problem.
        noise: the deviation of a score, in units of the problem's signal.
        score_error: the deviation of a score as it is, of which strategies are told; in place of `noise`.
    """

    make: Callable[[int], Problem]
    noise: float = 0.0
    score_error: float | None = None


FAMILIES: dict[str, Family] = {
    "peak-3d": Family(lambda seed: MovingPeak(3, 0.03, seed=seed), 0.5),
    "peak-6d": Family(lambda seed: MovingPeak(6, 0.03, seed=seed), 0.5),
    "peak-static": Family(lambda seed: MovingPeak(3, 0.0, seed=seed), 0.5),
    "peak-jumps": Family(lambda seed: MovingPeak(2, 0.02, 8, seed=seed), 0.5),
    "peak-noise-1x": Family(lambda seed: MovingPeak(3, 0.03, seed=seed), 1.0),
    "peak-noise-2x": Family(lambda seed: MovingPeak(3, 0.03, seed=seed), 2.0),
    "gp-slow": Family(lambda seed: GPDraw(2, 0.05, seed=seed), 0.5),
    "gp-unlearnable": Family(lambda seed: GPDraw(2, 0.95, seed=seed), 0.5),
    "quadratic": Family(lambda _: Quadratic(), 0.5),
    "noisy-sgd": Family(lambda _: NoisySGD(), 0.1),
    "mixed": Family(lambda seed: Mixed(seed=seed), 0.5),
    "deceptive": Family(lambda _: Deceptive(), 0.5),
}
"""Problems with a known optimum, in most of which what is gained at once is what is gained in the end."""

BITING: dict[str, Family] = {
    "ill-conditioned": Family(lambda _: IllConditioned(), score_error=0.05),
    "dip": Family(lambda seed: Dip(seed=seed), score_error=0.2),
    "plateau": Family(lambda seed: Plateau(seed=seed), score_error=0.3),
    "lottery": Family(lambda seed: Lottery(seed=seed), score_error=0.2),
}
"""Problems with the traits of real training, on which the gain of one interval is a bad teacher."""

REFERENCES = ("best constant", "good schedule")
"""What problems that bite can be compared with; these are run like strategies, and copy nothing."""


def run_family(family: Family, strategy: str | Strategy, *, size: int, intervals: int, seed: int) -> Simulated | None:
    """Return how one population ends; None where the problem has no such reference.

    Args:
        family: of problems.
        strategy: a strategy, the name of one, or one of `REFERENCES`.
        size, intervals, seed: of the population.
    """
    problem = family.make(seed)
    if isinstance(strategy, str) and strategy in REFERENCES:
        known = problem.references(intervals) if isinstance(problem, Referenced) else {}
        if strategy not in known:
            return None
        strategy = FixedSchedule(schedule=tuple(known[strategy]))
    elif isinstance(strategy, str):
        strategy = make_strategy(strategy)
    noise = {"noise": family.noise} if family.score_error is None else {"score_error": family.score_error}
    return simulate(problem, strategy, size=size, intervals=intervals, seed=seed, **noise)


@dataclass(frozen=True)
class Regrets:
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
) -> Iterator[Regrets]:
    """Run every strategy on every problem and yield a cell as it is done.

    Args:
        strategies: names for `make_strategy`, or of `REFERENCES`; problems that have no such reference are left out.
        problems: names in `FAMILIES` or `BITING`.
        seeds: how many runs a cell.
        size, intervals: of the population.
        workers: processes to share the runs.

    Raises:
        OptionError: for a name that is not known, before anything runs.
    """
    for name in strategies:
        if name not in REFERENCES:
            make_strategy(name)
    for name in problems:
        if name not in FAMILIES | BITING:
            raise OptionError(f"a problem is one of {', '.join(FAMILIES | BITING)}, but got {name!r}")
    return _cells(strategies, problems, seeds, size, intervals, workers)


def _cells(
    strategies: Sequence[str], problems: Sequence[str], seeds: int, size: int, intervals: int, workers: int
) -> Iterator[Regrets]:
    # Two processes with two BLAS threads each, on two cores, are many times slower than with one each.
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for problem in problems:
            for strategy in strategies:
                one = partial(_one, strategy, problem, size, intervals)
                regrets = [regret for regret in pool.map(one, range(seeds)) if regret is not None]
                if regrets:
                    yield Regrets(strategy, problem, tuple(regrets))


def _one(strategy: str, problem: str, size: int, intervals: int, seed: int) -> float | None:
    found = run_family((FAMILIES | BITING)[problem], strategy, size=size, intervals=intervals, seed=seed)
    return None if found is None else found.regret
