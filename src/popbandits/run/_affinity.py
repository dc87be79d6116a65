"""Which worker trains which task: the one that has the agent in memory, if it can be. For all pools of workers."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from popbandits.run._executor import Failed, Outcome, Task


class Holder(Protocol):
    """A worker, as far as its memory goes.

    Attributes:
        agents: the agents in its memory, and the checkpoint each of them is at.
    """

    agents: dict[int, str]


def next_for(worker: Holder, workers: Iterable[Holder], waiting: Mapping[int, Task]) -> Task | None:
    """Return the best task for a worker: one it has in memory, else one that nobody has, else any."""
    elsewhere = {agent: name for other in workers if other is not worker for agent, name in other.agents.items()}
    best: Task | None = None
    for task in waiting.values():
        if task.load is not None and worker.agents.get(task.agent) == task.load:
            return task
        if best is None or (elsewhere.get(best.agent) == best.load and elsewhere.get(task.agent) != task.load):
            best = task
    return best


def remember(worker: Holder, outcome: Outcome, room: int) -> None:
    """Note what a worker has in memory after a task: at most `room` agents, as `Trainer` keeps them."""
    worker.agents.pop(outcome.task.agent, None)
    if not isinstance(outcome, Failed):
        worker.agents[outcome.task.agent] = outcome.task.save
        while len(worker.agents) > room:
            worker.agents.pop(next(iter(worker.agents)))


def room_for(size: int, workers: int) -> int:
    """Return how many agents a worker keeps in memory."""
    return -(-size // workers) + 1
