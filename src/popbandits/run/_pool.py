"""A pool of workers: who is hired, who trains what, and who is late or lost. For every executor that has workers.

What differs between executors is the transport: pipes to processes on this machine, or calls of Ray actors.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

from popbandits._errors import OptionError, RunError, TrainableError
from popbandits.run._affinity import next_for, remember
from popbandits.run._executor import Done, Failed, Outcome, Task

_STILLBORN = 5  # workers in a row that may die before they train anything


class Worker:
    """A worker, as the pool knows it. A transport adds what it needs.

    Attributes:
        ready: whether it has started up.
        task, since: what it trains, and since when; None while it is idle.
        agents: the agents in its memory, and the checkpoint each of them is at.
    """

    def __init__(self) -> None:
        self.ready = False
        self.task: Task | None = None
        self.since = 0.0
        self.agents: dict[int, str] = {}


@dataclass(frozen=True)
class Ready:
    """A worker has started up."""


@dataclass(frozen=True)
class Unusable:
    """A worker cannot import the user's code; none could. The message says why."""

    message: str


@dataclass(frozen=True)
class Died:
    """A worker is gone.

    Args:
        kind: of the failure, as in `Failed`.
        message: one sentence.
        hint: what to do when workers die before they train anything.
    """

    kind: str
    message: str
    hint: str


Word: TypeAlias = Ready | Unusable | Died | Done | Failed
"""What a pool hears of a worker."""

W = TypeVar("W", bound=Worker)


class Transport(Protocol[W]):
    """How workers are started, spoken to and ended."""

    early: bool
    """Whether a worker may be given a task before it is ready."""

    def room(self) -> int:
        """Return how many workers there may be now."""

    def hire(self) -> W:
        """Start a worker."""

    def give(self, worker: W, task: Task) -> None:
        """Send a task to a worker."""

    def hear(self, workers: Sequence[W], seconds: float) -> list[tuple[W, Word]]:
        """Return what workers say, waiting so long for the first word. One that died has been tidied up after."""

    def end(self, worker: W) -> None:
        """End a worker and all it has started."""

    def close(self, workers: Sequence[W]) -> None:
        """End all workers, and the transport itself."""


class Pool(Generic[W]):
    """A session of an executor that has workers.

    Args:
        transport: to them.
        keep: how many agents a worker keeps in memory.
        deadline: seconds that an interval may take; None for ever.
    """

    def __init__(self, transport: Transport[W], keep: int, deadline: float | None) -> None:
        self._transport, self._keep, self._deadline = transport, keep, deadline
        self._workers: list[W] = []
        self._waiting: dict[int, Task] = {}
        self._died = 0

    def submit(self, task: Task) -> None:
        """Take a task; it is trained when there is room."""
        self._waiting[task.agent] = task
        self._hand_out()

    def wait(self, seconds: float) -> list[Outcome]:
        """Return the outcomes there are, waiting so long for the first."""
        self._hand_out()
        outcomes: list[Outcome] = []
        for worker, word in self._transport.hear(list(self._workers), self._patience(seconds)):
            outcomes += self._heard(worker, word)
        for worker in [worker for worker in self._workers if self._is_late(worker)]:
            assert worker.task is not None
            self._workers.remove(worker)
            self._transport.end(worker)
            outcomes.append(Failed(worker.task, "hang", f"took more than {self._deadline} s and was ended"))
        self._hand_out()
        return outcomes

    def close(self) -> None:
        """End everything at once; tasks that have not ended are lost."""
        self._waiting.clear()
        workers, self._workers = self._workers, []
        self._transport.close(workers)

    def _hand_out(self) -> None:
        """Give waiting tasks to idle workers: to the one that has the agent in memory if it can be."""
        idle = sum(worker.task is None for worker in self._workers)
        while len(self._waiting) > idle and len(self._workers) < self._transport.room():
            self._workers.append(self._transport.hire())
            idle += 1
        for worker in self._workers:
            if worker.task is None and (worker.ready or self._transport.early):
                task = next_for(worker, self._workers, self._waiting)
                if task is None:
                    return
                del self._waiting[task.agent]
                worker.task, worker.since = task, time.monotonic()
                self._transport.give(worker, task)

    def _patience(self, seconds: float) -> float:
        """Return how long to wait: no longer than until the next deadline."""
        if self._deadline is None:
            return seconds
        now = time.monotonic()
        left = [worker.since + self._deadline - now for worker in self._workers if worker.ready and worker.task]
        return max(0.0, min([seconds, *left]))

    def _is_late(self, worker: W) -> bool:
        if self._deadline is None or not worker.ready or worker.task is None:
            return False  # starting up is not training
        return time.monotonic() - worker.since > self._deadline

    def _heard(self, worker: W, word: Word) -> list[Outcome]:
        if isinstance(word, Unusable):
            self.close()
            raise TrainableError(word.message)
        if isinstance(word, Ready):
            worker.ready, worker.since, self._died = True, time.monotonic(), 0
            return []
        if isinstance(word, Died):
            return self._lost(worker, word)
        remember(worker, word, self._keep)
        worker.task = None
        return [word]

    def _lost(self, worker: W, word: Died) -> list[Outcome]:
        self._workers.remove(worker)
        if worker.task is not None:
            return [Failed(worker.task, word.kind, word.message)]
        self._died += 1
        if self._died >= _STILLBORN:
            self.close()
            raise RunError(f"{self._died} workers in a row died before they could train; {word.hint}")
        return []


def check_options(workers: int | None, deadline: float | None) -> None:
    """Refuse a number of workers or a deadline that cannot be."""
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise OptionError(f"`workers >= 1` must hold, but got workers={workers!r}")
    if deadline is not None and not (isinstance(deadline, (int, float)) and deadline > 0):
        raise OptionError(f"`deadline > 0` must hold, but got deadline={deadline!r}")
