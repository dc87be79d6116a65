"""The paper's experiments as data: tasks, population sizes, budgets, and the paper's own numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from popbandits.space import Float, Int
from popbandits.workloads import CNN_TASKS, IMPALA_TASKS, PPO_TASKS

METHODS = ("rs", "bo", "asha", "pbt", "uniform", "pb2-paper", "pb2")
"""The methods that are compared; `uniform` is PBT that draws every new value uniformly, pb2-paper is `PB2.paper()`."""

REVISIONS = {"pb2": 7}  # donors have learned, patience, weights judged by heirs, neighbours, scores as the teacher
"""The revision of a method, 1 unless named here: raised when it decides otherwise with the same options."""


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper.

    Args:
        name, title: for the command line, and for people.
        tasks: the name of each task to its class, as module and name.
        populations: the sizes that the paper reports.
        intervals: of an agent.
        interval: what an agent trains between two reports, in units.
        unit: "steps" of environments, or "images".
        seeds: how many the paper has.
        slowest: units a second below which an agent is taken to hang, and its interval is begun anew.
        measure: the metric that the paper reports; the score itself is another for PPO and IMPALA.
        trainer: the revision of its trainer, raised by a change that makes earlier results incomparable.
        least: units below which an interval would train nothing.
        digits: decimals of a score that tell something.
        changes: parameters of the space that differ from the task's own.
        paper: the paper's median of the best agent, by task and population, then by method.
    """

    name: str
    title: str
    tasks: Mapping[str, tuple[str, str]]
    populations: tuple[int, ...]
    intervals: int
    interval: int
    unit: str
    seeds: int
    slowest: float
    measure: str = "score"
    trainer: int = 1
    least: int = 1
    digits: int = 0
    changes: Mapping[str, Int | Float] = field(default_factory=dict)
    paper: Mapping[tuple[str, int], Mapping[str, float]] = field(default_factory=dict)


_LAST_100 = "last_100"  # the mean return of the last 100 episodes
_PPO_TRAINER = 3  # the score is of the interval's own episodes, copies draw numbers of their own
_IMPALA_TRAINER = 3  # the same
_CNN_TRAINER = 2  # copies draw numbers of their own
_PPO = {name.rpartition("-")[0]: ("popbandits.workloads.ppo", found) for name, found in PPO_TASKS.items()}
_ATARI = {
    name.rpartition("-")[0]: ("popbandits.workloads.impala", found)
    for name, found in IMPALA_TASKS.items()
    if found != "CartPole"
}

_ALL = (
    Experiment(
        "table1",
        "PPO: batch size, GAE lambda, clip and learning rate",
        _PPO,
        (4, 8),
        20,
        50_000,
        "steps",
        10,
        500,
        _LAST_100,
        _PPO_TRAINER,
        paper={
            ("BipedalWalker", 4): {"rs": 234, "bo": 133, "asha": 236, "pbt": 223, "pb2-paper": 276},
            ("LunarLanderContinuous", 4): {"rs": 161, "bo": 206, "asha": 213, "pbt": 159, "pb2-paper": 235},
            ("Hopper", 4): {"rs": 1638, "bo": 1760, "asha": 1819, "pbt": 1492, "pb2-paper": 2346},
            ("InvertedDoublePendulum", 4): {"rs": 8094, "bo": 8607, "asha": 7899, "pbt": 8893, "pb2-paper": 8179},
            ("BipedalWalker", 8): {"rs": 240, "bo": 237, "asha": 255, "pbt": 277, "pb2-paper": 291},
            ("LunarLanderContinuous", 8): {"rs": 175, "bo": 240, "asha": 231, "pbt": 247, "pb2-paper": 275},
        },
    ),
    Experiment(
        "robustness",
        "PPO with a batch size from 5,000 to 200,000: most of the range wastes the budget",
        {"BipedalWalker": _PPO["BipedalWalker"]},
        (4,),
        20,
        50_000,
        "steps",
        10,
        500,
        _LAST_100,
        _PPO_TRAINER,
        changes={"batch_size": Int(5000, 200_000)},
        paper={("BipedalWalker", 4): {"pbt": -12, "pb2-paper": 203}},
    ),
    Experiment(
        "scaling",
        "PPO with 16 agents (the paper: PBT and PB2 over 300, PB2 sooner)",
        {"BipedalWalker": _PPO["BipedalWalker"]},
        (16,),
        20,
        50_000,
        "steps",
        10,
        500,
        _LAST_100,
        _PPO_TRAINER,
    ),
    Experiment(
        "impala",
        "IMPALA on Atari: the optimiser's epsilon, learning rate and entropy cost",
        _ATARI,
        (4,),
        20,
        500_000,
        "steps",
        7,
        50,
        _LAST_100,
        _IMPALA_TRAINER,
        least=2560,
        digits=1,
    ),
    Experiment(
        "cifar10",
        "A convolutional network on half of CIFAR-10: six hyperparameters, accuracy in per cent",
        {"CIFAR10": ("popbandits.workloads.cnn", CNN_TASKS["cifar10"])},
        (4,),
        10,
        125_000,
        "images",
        5,
        50,
        trainer=_CNN_TRAINER,
        digits=1,
        paper={("CIFAR10", 4): {"rs": 84.43, "asha": 88.85, "pbt": 87.20, "pb2-paper": 89.10}},
    ),
)

EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}
"""Every experiment by its name."""
