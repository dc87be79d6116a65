"""Table 1 as data: tasks, methods, population sizes, and the paper's own numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from popbandits._errors import OptionError
from popbandits.population import Strategy
from popbandits.strategies import ASHA, PB2, PBT, BayesOpt, RandomSearch
from popbandits.workloads import PPO_TASKS

INTERVALS = 20  # of 50,000 steps: a million an agent

TASKS = {environment.rpartition("-")[0]: name for environment, name in PPO_TASKS.items()}
"""Environment to the class in `popbandits.workloads.ppo`."""

METHODS = ("rs", "bo", "asha", "pbt", "uniform", "pb2-paper", "pb2")

PAPER: dict[tuple[str, int], dict[str, int]] = {
    ("BipedalWalker", 4): {"rs": 234, "bo": 133, "asha": 236, "pbt": 223, "pb2-paper": 276},
    ("LunarLanderContinuous", 4): {"rs": 161, "bo": 206, "asha": 213, "pbt": 159, "pb2-paper": 235},
    ("Hopper", 4): {"rs": 1638, "bo": 1760, "asha": 1819, "pbt": 1492, "pb2-paper": 2346},
    ("InvertedDoublePendulum", 4): {"rs": 8094, "bo": 8607, "asha": 7899, "pbt": 8893, "pb2-paper": 8179},
    ("BipedalWalker", 8): {"rs": 240, "bo": 237, "asha": 255, "pbt": 277, "pb2-paper": 291},
    ("LunarLanderContinuous", 8): {"rs": 175, "bo": 240, "asha": 231, "pbt": 247, "pb2-paper": 275},
}
"""(environment, population) to the paper's median of the best agent, ten seeds."""


@dataclass(frozen=True)
class Cell:
    """One run of table 1.

    Args:
        env, population, method, seed: which.
        intervals: of an agent; 20 is the paper's budget.
    """

    env: str
    population: int
    method: str
    seed: int
    intervals: int = INTERVALS

    @property
    def name(self) -> str:
        """A name for its folder and its result."""
        scaled = "" if self.intervals == INTERVALS else f"-{self.intervals}of{INTERVALS}"
        return f"{self.env}-B{self.population}-{self.method}-seed{self.seed}{scaled}"

    def strategy(self) -> Strategy:
        """Return the strategy of the method; all spend population x intervals at the most."""
        starts = {4: 18, 8: 48}.get(self.population)
        made: dict[str, Strategy] = {
            "rs": RandomSearch(),
            "bo": BayesOpt(),
            "asha": ASHA(starts=starts),
            "pbt": PBT(),
            "uniform": PBT(resample_probability=1.0),
            "pb2-paper": PB2.paper(),
            "pb2": PB2(),
        }
        return made[self.method]

    def result_file(self, results: Path) -> Path:
        """Return where its result is kept."""
        return results / "table1" / f"{self.name}.json"


def cells(env: str, population: int, methods: Sequence[str], seeds: int, scale: float = 1.0) -> Iterator[Cell]:
    """Yield the cells of a part of table 1, seed by seed, so that methods can be compared early.

    Raises:
        OptionError: for a name that is not known or a scale that leaves no interval.
    """
    if env not in TASKS:
        raise OptionError(f"an environment is one of {', '.join(TASKS)}, but got {env!r}")
    for method in methods:
        if method not in METHODS:
            raise OptionError(f"a method is one of {', '.join(METHODS)}, but got {method!r}")
    intervals = round(INTERVALS * scale)
    if not 1 <= intervals <= INTERVALS:
        raise OptionError(f"`1/{INTERVALS} <= scale <= 1` must hold, but got scale={scale}")
    for seed in range(seeds):
        for method in methods:
            yield Cell(env, population, method, seed, intervals)
