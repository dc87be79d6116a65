"""The tasks of the bench of real training, and the methods that are compared on them."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import popbandits as pb
from benchmarks._ceilings import Ceiling, read_ceiling
from benchmarks._lockstep import Compiled, Judged, train_all
from benchmarks._one_by_one import train_one
from popbandits._errors import OptionError
from popbandits.population import Strategy
from popbandits.space import Space
from popbandits.strategies import FixedSchedule


@dataclass(frozen=True)
class Task:
    """Something to train.

    Args:
        name, title: for the command line and files, and for people.
        module, options: where `learner(**options)` is, or the class of a trainable.
        intervals: of an agent.
        seeds: that a cell has when it is complete.
        corner: the part of the space where people who know the task would search; the rest is the task's own.
        trainable: the class, when agents are trained one by one; None when they are mapped.
        constants: what such a class is given beside the hparams.
    """

    name: str
    title: str
    module: str
    options: dict[str, Any]
    intervals: int
    corner: dict[str, Any]
    seeds: int = 50
    trainable: str | None = None
    constants: dict[str, Any] = field(default_factory=dict)

    @property
    def space(self) -> Space:
        """What may be learned."""
        found = importlib.import_module(self.module)
        return found.SPACE if self.trainable is None else getattr(found, self.trainable).space  # type: ignore[no-any-return]

    def train(self, strategy: Callable[[], Strategy], seeds: range, size: int, space: Space | None) -> list[Judged]:
        """Return how populations with these seeds end."""
        if self.trainable is None:
            return train_all(compiled(self.name), strategy, seeds, size=size, intervals=self.intervals, space=space)
        trainable = getattr(importlib.import_module(self.module), self.trainable)
        where = space or self.space
        train = partial(train_one, size=size, intervals=self.intervals, space=where, constants=self.constants)
        return [train(trainable, strategy(), seed) for seed in seeds]


@cache
def compiled(task: str) -> Compiled:
    """Return the compiled functions of a task that is mapped."""
    found = TASKS[task]
    return Compiled(importlib.import_module(found.module).learner(**found.options))


_PPO = {"clip": pb.Float(0.1, 0.3), "entropy_cost": pb.Float(1e-4, 1e-2, log=True), "gae_lambda": pb.Float(0.9, 0.98)}

TASKS = {
    task.name: task
    for task in (
        Task(
            "pendulum",
            "PPO on Pendulum: continuous actions",
            "popbandits.workloads.ppo_jax",
            {"environment": "Pendulum-v1", "rollouts": 8},
            15,
            _PPO | {"lr": pb.Float(1e-3, 5e-3, log=True), "discount": pb.Float(0.95, 0.99, logit=True)},
        ),
        Task(
            "acrobot",
            "PPO on Acrobot: three actions to choose from",
            "popbandits.workloads.ppo_jax",
            {"environment": "Acrobot-v1", "rollouts": 2},
            15,
            _PPO | {"lr": pb.Float(1e-3, 5e-3, log=True), "discount": pb.Float(0.99, 0.999, logit=True)},
        ),
        Task(
            "mountain-car",
            "PPO on MountainCarContinuous: a sparse reward, and trying costs score",
            "popbandits.workloads.ppo_jax",
            {"environment": "MountainCarContinuous-v0", "rollouts": 2},
            15,
            _PPO | {"lr": pb.Float(5e-4, 5e-3, log=True), "discount": pb.Float(0.99, 0.999, logit=True)},
        ),
        Task(
            "fashion",
            "SGD on Fashion-MNIST: accuracy in per cent",
            "popbandits.workloads.fashion_jax",
            {},
            15,
            {
                "lr": pb.Float(0.03, 0.3, log=True),
                "momentum": pb.Float(0.3, 0.9),
                "weight_decay": pb.Float(1e-6, 1e-4, log=True),
                "dropout": pb.Float(0.0, 0.1),
            },
        ),
        Task(
            "text",
            "a transformer on Python's help texts: minus bits a character",
            "popbandits.workloads.text_jax",
            {},
            15,
            {
                "lr": pb.Float(3e-3, 1e-2, log=True),
                "momentum": pb.Float(0.3, 0.9),
                "weight_decay": pb.Float(1e-4, 1e-2, log=True),
                "dropout": pb.Float(0.0, 0.05),
            },
        ),
        Task(
            "lunar-lander",
            "PPO on LunarLanderContinuous, a quarter of the paper's budget",
            "benchmarks._lander",
            {},
            20,
            {
                "batch_size": pb.Int(1000, 6000),
                "gae_lambda": pb.Float(0.92, 0.98),
                "clip": pb.Float(0.15, 0.3),
                "lr": pb.Float(3e-4, 1e-3, log=True),
            },
            seeds=10,
            trainable="LunarLander",
            constants={"interval": 12_500},
        ),
    )
}

STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "rs": pb.RandomSearch,
    "asha": pb.ASHA,
    "pbt": pb.PBT,
    "uniform": lambda: pb.PBT(resample_probability=1.0),
    "dice": lambda: pb.PB2(window=0),
    "pb2-paper": pb.PB2.paper,
    "pb2": pb.PB2,
}
"""The methods that are compared."""

CORNER = "pbt-corner"
"""PBT in the corner of the space where people who know the task would search: a control that the bench must tell."""

CEILINGS = ("constant", "line")
"""What can be had: the best constant hparams, and the best straight line from some to others, both found by search."""

METHODS = (*STRATEGIES, CORNER, *CEILINGS)


@dataclass(frozen=True)
class Method:
    """A strategy for a task, and the space that it searches; None for the task's own."""

    strategy: Callable[[], Strategy]
    space: Space | None = None


def method_of(name: str, task: Task) -> Method:
    """Return a method by its name, or a strategy of one's own as `module:Class`.

    Raises:
        OptionError: when there is no such method, or its ceiling was not searched for yet.
    """
    if name in STRATEGIES:
        return Method(STRATEGIES[name])
    if name == CORNER:
        return Method(pb.PBT, Space(dict(task.space.params) | task.corner))
    if name in CEILINGS:
        return Method(partial(FixedSchedule, schedule=schedule_of(read_ceiling(task.name), name, task)))
    module, colon, attribute = name.partition(":")
    if not colon:
        raise OptionError(f"a method is one of {', '.join(METHODS)} or module:Class, but got {name!r}")
    try:
        made: Callable[[], Strategy] = getattr(importlib.import_module(module), attribute)
    except (ModuleNotFoundError, AttributeError) as error:
        raise OptionError(f"there is no strategy {name!r}: {error}") from None
    return Method(made)


def schedule_of(ceiling: Ceiling, name: str, task: Task) -> tuple[dict[str, Any], ...]:
    """Return the hparams of every interval under a ceiling."""
    points = ceiling.points(name, task.intervals)
    return tuple(task.space.decode(point) for point in points)
