"""Processes: agents are trained by worker processes on this machine, which outlive a task and not their controller."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from popbandits._errors import OptionError, TrainableError
from popbandits.run._affinity import next_for, remember, room_for
from popbandits.run._executor import Assignment, Failed, Outcome, Task
from popbandits.run._wire import receive, send, unpack_outcome

XLA = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Processes:
    """Train in worker processes on this machine.

    More agents than workers share them in turn; an agent that keeps its weights stays in the memory of its worker.

    Args:
        workers: how many; None for one for each core, and never more than agents.
        deadline: seconds an interval may take before its worker is ended and the interval tried again; None for ever.
        threads: for numerical libraries in each worker. More threads than cores make everything slower.

    Raises:
        OptionError: for numbers that cannot be.
    """

    workers: int | None = None
    deadline: float | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        if self.workers is not None and (not isinstance(self.workers, int) or self.workers < 1):
            raise OptionError(f"`workers >= 1` must hold, but got workers={self.workers!r}")
        if self.deadline is not None and not (isinstance(self.deadline, (int, float)) and self.deadline > 0):
            raise OptionError(f"`deadline > 0` must hold, but got deadline={self.deadline!r}")
        if not isinstance(self.threads, int) or self.threads < 1:
            raise OptionError(f"`threads >= 1` must hold, but got threads={self.threads!r}")

    def open(self, assignment: Assignment) -> "_ProcessSession":
        """Start for one run."""
        workers = min(assignment.size, self.workers or os.cpu_count() or 1)
        return _ProcessSession(self, assignment, workers)


class _Worker:
    """One process, its two pipes, and the task it is at."""

    def __init__(self, number: int, assignment: Assignment, room: int, threads: int) -> None:
        self.number = number
        self.task: Task | None = None
        self.since = 0.0
        self.agents: dict[int, str] = {}
        """The agents in its memory, and the checkpoint each of them is at."""
        their_tasks, self.tasks = os.pipe()
        self.outcomes, their_outcomes = os.pipe()
        log = assignment.checkpoints.parent / f"worker-{number}.log"
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "popbandits.run._worker",
                    str(their_tasks),
                    str(their_outcomes),
                    str(os.getpid()),
                ],
                pass_fds=(their_tasks, their_outcomes),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # a group of its own: what user code starts can be ended with it
                env=os.environ
                | dict.fromkeys(_THREADS, str(threads))
                | {"XLA_FLAGS": os.environ.get("XLA_FLAGS", XLA)},
            )
        os.close(their_tasks)
        os.close(their_outcomes)
        hello: dict[str, Any] = {
            "module": assignment.target.module,
            "names": assignment.target.names,
            "checkpoints": str(assignment.checkpoints.resolve()),
            "metric": assignment.metric,
            "size": assignment.size,
            "room": room,
            "argv": sys.argv,
            "path": [str(Path(entry or ".").resolve()) for entry in sys.path],
        }
        with contextlib.suppress(BrokenPipeError):
            send(self.tasks, hello)
        self.ready = False
        self.alive = os.pidfd_open(self.process.pid)  # readable when it dies, whoever else holds its pipes

    def give(self, task: Task) -> None:
        self.task, self.since = task, time.monotonic()
        with contextlib.suppress(
            BrokenPipeError
        ):  # it died while idle; that it is gone is noticed like any other death
            send(self.tasks, vars(task))

    def end(self) -> int:
        """End the process and all it has started; return how it ended."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        code = self.process.wait()
        for descriptor in (self.tasks, self.outcomes, self.alive):
            os.close(descriptor)
        return code


class _ProcessSession:
    def __init__(self, options: Processes, assignment: Assignment, workers: int) -> None:
        self._options, self._assignment = options, assignment
        self._room = room_for(assignment.size, workers)
        self._workers: dict[int, _Worker | None] = dict.fromkeys(range(workers))
        self._waiting: dict[int, Task] = {}

    def submit(self, task: Task) -> None:
        self._waiting[task.agent] = task
        self._hand_out()

    def wait(self, seconds: float) -> list[Outcome]:
        self._hand_out()
        outcomes: list[Outcome] = []
        alive = self._hired()
        if not alive:
            return outcomes
        poll = select.poll()
        for worker in alive:
            poll.register(worker.outcomes, select.POLLIN)
            poll.register(worker.alive, select.POLLIN)
        readable = {descriptor for descriptor, _ in poll.poll(1000 * self._patience(alive, seconds))}
        for worker in alive:
            if worker.outcomes in readable:
                outcomes += self._heard(worker)
            elif worker.alive in readable:
                outcomes += self._died(worker)
            elif self._late(worker):
                outcomes.append(self._lost(worker, "hang", f"took more than {self._options.deadline} s and was ended"))
        self._hand_out()
        return outcomes

    def close(self) -> None:
        self._waiting.clear()
        for number, worker in self._workers.items():
            if worker is not None:
                worker.end()
                self._workers[number] = None

    def _hired(self) -> list[_Worker]:
        return [worker for worker in self._workers.values() if worker is not None]

    def _hand_out(self) -> None:
        """Give waiting tasks to idle workers: to the one that has the agent in memory if it can be."""
        for number, hired in self._workers.items():
            if not self._waiting:
                return
            worker = hired or _Worker(number, self._assignment, self._room, self._options.threads)
            self._workers[number] = worker
            if worker.task is None:
                task = next_for(worker, self._hired(), self._waiting)
                if task is not None:
                    del self._waiting[task.agent]
                    worker.give(task)

    def _patience(self, alive: list[_Worker], seconds: float) -> float:
        if self._options.deadline is None:
            return seconds
        now = time.monotonic()
        left = [worker.since + self._options.deadline - now for worker in alive if worker.ready and worker.task]
        return max(0.0, min([seconds, *left]))

    def _late(self, worker: _Worker) -> bool:
        deadline = self._options.deadline
        if deadline is None or not worker.ready or worker.task is None:
            return False  # starting up is not training
        return time.monotonic() - worker.since > deadline

    def _heard(self, worker: _Worker) -> list[Outcome]:
        message = receive(worker.outcomes)
        if message is None:
            return self._died(worker)
        if message["outcome"] == "ready":
            worker.ready = True
            worker.since = time.monotonic()
            return []
        if message["outcome"] == "unusable":
            self.close()
            raise TrainableError(message["message"])
        outcome = unpack_outcome(message)
        remember(worker, outcome, self._room)
        worker.task = None
        return [outcome]

    def _died(self, worker: _Worker) -> list[Outcome]:
        if worker.task is None:
            self._workers[worker.number] = None
            worker.end()
            return []
        # An ended process may have been ended for its memory: the kernel does so without a word.
        return [self._lost(worker, "crash", "its worker process died")]

    def _lost(self, worker: _Worker, kind: str, message: str) -> Outcome:
        task = worker.task
        assert task is not None
        self._workers[worker.number] = None
        code = worker.end()
        if kind == "crash":
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            hint = "; was it out of memory?" if code == -signal.SIGKILL else ""
            message = f"{message} ({name}{hint})"
        return Failed(task, kind, message)
