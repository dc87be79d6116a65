"""The contract between the loop and what trains: tasks go in, outcomes come out.

An executor is a frozen description (`Inline()`, `Processes(workers=2)`); `open` starts it for one run. Whoever trains
applies hparams after loading, writes the checkpoint beside and seals it; the controller publishes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Union

from popbandits._errors import OptionError
from popbandits._types import Hparams
from popbandits.run._entries import Seconds
from popbandits.run._target import Target
from popbandits.space import Space


@dataclass(frozen=True)
class Task:
    """One interval of one agent.

    Args:
        agent, interval, attempt: which, and the how-manieth try of it, from 1.
        hparams: to train with.
        load: the checkpoint to train from; None for fresh weights.
        save: the name of the checkpoint to write.
        seed: of fresh weights.
        reseed: for a copy, what its random numbers are drawn from after loading; None for an agent that goes on.
        source: whose weights it trains: its own, another agent's, or None for fresh ones.
    """

    agent: int
    interval: int
    attempt: int
    hparams: Hparams
    load: str | None
    save: str
    seed: int
    reseed: int | None = None
    source: int | None = None

    @property
    def key(self) -> tuple[int, int, int]:
        """What tells one attempt from another."""
        return self.agent, self.interval, self.attempt


@dataclass(frozen=True)
class Done:
    """A task has ended well; its checkpoint is sealed beside.

    Args:
        task: which.
        score, metrics: what the step returned, as numbers.
        seconds: how long it took.
        checkpoint: the name of the weights it ended with; None where they were not written.
        publish: the sealed folder to make visible for it; None where there is none, or another task brought it.
    """

    task: Task
    score: float
    metrics: dict[str, float]
    seconds: Seconds
    checkpoint: str | None
    publish: str | None


@dataclass(frozen=True)
class Failed:
    """A task has not ended well.

    Args:
        task: which.
        kind: "exception", "result" (not a score), "crash", "hang", "memory", "checkpoint" (damaged), "storage" (the
            disk is full or fails) or "data" (what all learn from is missing): the last two are no fault of the agent's.
        message: one sentence.
        traceback: of user code, where there is one.
    """

    task: Task
    kind: str
    message: str
    traceback: str = ""


Outcome = Union[Done, Failed]


@dataclass(frozen=True)
class Past:
    """What a population had trained, for an executor that does not write all of it.

    Args:
        sealed: the newest checkpoint of the whole population; None where there is none.
        batches: the tasks of every interval that was reported since, in order.
        damaged: checkpoints that cannot be used, with what is wrong with each.
    """

    sealed: str | None = None
    batches: tuple[tuple[Task, ...], ...] = ()
    damaged: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Assignment:
    """What an executor needs to know of a run.

    Args:
        target: the user's code.
        checkpoints: the folder of the checkpoints.
        metric: the name of the score among the metrics.
        size: the number of agents.
        config: the user's own settings, which the trainable is made with beside its seed.
        space, intervals: of the population.
        past: for an executor that keeps all agents in memory, what it had trained when it was interrupted.
    """

    target: Target
    checkpoints: Path
    metric: str
    size: int
    config: Mapping[str, Any] = field(default_factory=dict)
    space: Space | None = None
    intervals: int = 0
    past: Past = Past()


class Session(Protocol):
    """An executor at work for one run."""

    def submit(self, task: Task) -> None:
        """Take a task; it is trained when there is room."""

    def wait(self, seconds: float) -> list[Outcome]:
        """Return the outcomes there are, waiting so long for the first. An empty list means the time is up."""

    def close(self) -> None:
        """End everything at once; tasks that have not ended are lost."""


class Executor(Protocol):
    """Where agents are trained."""

    def open(self, assignment: Assignment) -> Session:
        """Start for one run."""


def check_in_step(together: bool, sync: bool) -> None:
    """Refuse agents that do not wait for one another where all of them are trained in one call."""
    if together and not sync:
        raise OptionError("Vectorised() trains all agents in one call, so they are in step; leave out sync=False")
