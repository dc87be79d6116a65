"""A cell: one run of an experiment, with its settings."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from popbandits._errors import OptionError
from popbandits.paper._experiments import EXPERIMENTS, METHODS, Experiment
from popbandits.population import Strategy
from popbandits.run import Settings, Target
from popbandits.space import Int, Space, as_space
from popbandits.strategies import ASHA, PB2, PBT, BayesOpt, RandomSearch


@dataclass(frozen=True)
class Cell:
    """One run of an experiment.

    Args:
        experiment, task, population, method, seed: which.
        scale: the part of the paper's budget that it spends: intervals are as many, and shorter.
    """

    experiment: str
    task: str
    population: int
    method: str
    seed: int
    scale: float = 1.0

    @property
    def name(self) -> str:
        """A name for its folder and its result."""
        scaled = "" if self.scale == 1 else f"-scale{self.scale:g}"
        return f"{self.task}-B{self.population}-{self.method}-seed{self.seed}{scaled}"

    @property
    def interval(self) -> int:
        """What an agent trains between two reports, in the experiment's units."""
        return round(EXPERIMENTS[self.experiment].interval * self.scale)

    def strategy(self) -> Strategy:
        """Return the strategy of the method; all spend population x intervals.

        ASHA starts trials while there is budget, about 30 with 4 agents; the paper's 18 would leave some of it unspent.
        """
        made: dict[str, Strategy] = {
            "rs": RandomSearch(),
            "bo": BayesOpt(),
            "asha": ASHA(),
            "pbt": PBT(),
            "uniform": PBT(resample_probability=1.0),
            "pb2-paper": PB2.paper(),
            "pb2": PB2(),
        }
        return made[self.method]

    def settings(self) -> Settings:
        """Return the settings of its run."""
        experiment = EXPERIMENTS[self.experiment]
        module, name = experiment.tasks[self.task]
        target = Target(module, (name,))
        space = dict(as_space(getattr(target.load(), "space")).params)  # noqa: B009  (the type of a factory has no space)
        space |= experiment.changes
        if self.scale != 1:
            space["interval"] = self.interval
        return Settings(target, Space(space), self.strategy(), self.population, experiment.intervals, self.seed)

    def result_file(self, results: Path) -> Path:
        """Return where its result is kept."""
        return results / self.experiment / f"{self.name}.json"


def cells(
    experiment: str,
    methods: Sequence[str],
    *,
    task: str | None = None,
    population: int | None = None,
    seeds: int | None = None,
    scale: float = 1.0,
) -> Iterator[Cell]:
    """Yield the cells of an experiment, or a part of it, seed by seed, so that methods can be compared early.

    Args:
        experiment: one of `EXPERIMENTS`.
        methods: some of `METHODS`.
        task, population, seeds: which part; by default all that the paper reports.
        scale: the part of the paper's budget to spend.

    Raises:
        OptionError: for a name that is not known, or a scale that leaves less than one batch.
    """
    if experiment not in EXPERIMENTS:
        raise OptionError(f"an experiment is one of {', '.join(EXPERIMENTS)}, but got {experiment!r}")
    found = EXPERIMENTS[experiment]
    if task is not None and task not in found.tasks:
        raise OptionError(f"{experiment} has the tasks {', '.join(found.tasks)}, but got {task!r}")
    for method in methods:
        if method not in METHODS:
            raise OptionError(f"a method is one of {', '.join(METHODS)}, but got {method!r}")
    if not 0 < scale <= 1:
        raise OptionError(f"`0 < scale <= 1` must hold, but got scale={scale}")
    for one in found.tasks if task is None else [task]:
        _enough(found, one, scale)
        reported = [size for size in found.populations if not found.paper or (one, size) in found.paper]
        for size in reported if population is None else [population]:
            for seed in range(seeds or found.seeds):
                for method in methods:
                    yield Cell(experiment, one, size, method, seed, scale)


def _enough(experiment: Experiment, task: str, scale: float) -> None:
    """Refuse a budget with which an agent would not learn once, or not in every interval where it must."""
    interval = round(experiment.interval * scale)
    if interval < experiment.least:
        enough = experiment.least / experiment.interval
        raise OptionError(
            f"scale={scale:g} leaves {interval:,} {experiment.unit} between two reports, less than the "
            f"{experiment.least:,} that are trained at once; `scale >= {_up(enough)}` must hold"
        )
    batch = Cell(experiment.name, task, 1, "rs", 0).settings().space.params.get("batch_size")
    least = batch.low if isinstance(batch, Int) else 1
    budget = interval * experiment.intervals
    if budget < least:
        raise OptionError(
            f"scale={scale:g} leaves an agent {budget:,} {experiment.unit}, less than one batch of {least:,}; "
            f"`scale >= {_up(least / experiment.interval / experiment.intervals)}` must hold"
        )


def _up(number: float) -> str:
    """Return a number in two digits that is not below it: who follows the advice must not be refused again."""
    digit = 10.0 ** (math.floor(math.log10(number)) - 1)
    return f"{math.ceil(number / digit - 1e-9) * digit:.2g}"
