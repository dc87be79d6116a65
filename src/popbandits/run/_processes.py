"""Processes: agents are trained by worker processes on this machine, which outlive a task and not their controller."""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from popbandits._errors import OptionError
from popbandits.run._affinity import room_for
from popbandits.run._executor import Assignment, Task
from popbandits.run._gpus import Gpus, chosen, environment
from popbandits.run._hello import Hello
from popbandits.run._marked import VARIABLE, end_marked
from popbandits.run._pool import Died, Pool, Ready, Unusable, Word, Worker, check_options
from popbandits.run._wire import GarbledError, Inbox, send, unpack_outcome

XLA = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Processes:
    """Train in worker processes on this machine.

    More agents than workers share them in turn; an agent that keeps its weights stays in the memory of its worker.

    Args:
        workers: how many; None for one for each core, or one for each GPU when there are any to share out. Never more
            than agents.
        deadline: seconds an interval may take before its worker is ended and the interval tried again; None for ever.
        threads: for numerical libraries in each worker. More threads than cores make everything slower.
        gpus: how many GPUs to use, "auto" for all there are, or a list of their ids. Each worker sees one of them, and
            workers beyond the number of GPUs share them evenly. None leaves GPUs alone: every worker sees all.

    Raises:
        OptionError: for numbers that cannot be, and GPUs that are not there.

    Examples:
        >>> Processes(workers=8, gpus=["0", "1"])
        Processes(workers=8, deadline=None, threads=1, gpus=['0', '1'])
    """

    workers: int | None = None
    deadline: float | None = None
    threads: int = 1
    gpus: Gpus = None

    def __post_init__(self) -> None:
        chosen(self.gpus)
        check_options(self.workers, self.deadline)
        if not isinstance(self.threads, int) or self.threads < 1:
            raise OptionError(f"`threads >= 1` must hold, but got threads={self.threads!r}")

    def open(self, assignment: Assignment) -> "Pool[_Process]":
        """Start for one run."""
        gpus = chosen(self.gpus)
        workers = min(assignment.size, self.workers or (len(gpus) if gpus else os.cpu_count()) or 1)
        keep = room_for(assignment.size, workers)
        return Pool(_Pipes(assignment, workers, keep, self.threads, gpus), keep, self.deadline)

    def told(self) -> str | None:
        """Return what people should know of where a run is trained; None when it is as always."""
        gpus = chosen(self.gpus)
        if gpus is None:
            return "no GPU was found, so workers train without" if self.gpus == "auto" else None
        return f"workers share the GPUs {', '.join(gpus)}"


_GARBLED = (
    "your code wrote into a descriptor that is not its own: the pipe through which its worker tells results; "
    "write only to files that your code has opened"
)


class _Process(Worker):
    """One process and its two pipes."""

    def __init__(self, number: int, hello: Hello, log: str, told: dict[str, str]) -> None:
        super().__init__()
        self.number, self.inbox, self._mark = number, Inbox(), uuid.uuid4().hex
        their_tasks, self.tasks = os.pipe()
        self.outcomes, their_outcomes = os.pipe()
        command = [sys.executable, "-m", "popbandits.run._worker", str(their_tasks), str(their_outcomes)]
        with open(log, "ab") as output:
            self.process = subprocess.Popen(
                [*command, str(os.getpid())],
                pass_fds=(their_tasks, their_outcomes),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # a group of its own: what user code starts can be ended with it
                env=os.environ | told | {VARIABLE: self._mark},
            )
        os.close(their_tasks)
        os.close(their_outcomes)
        with contextlib.suppress(BrokenPipeError):
            send(self.tasks, hello.to_json())
        self.alive = os.pidfd_open(self.process.pid)  # readable when it dies, whoever else holds its pipes

    def end(self) -> int:
        """End the process and all it has started; return how it ended."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        code = self.process.wait()
        end_marked(self._mark)
        for descriptor in (self.tasks, self.outcomes, self.alive):
            os.close(descriptor)
        return code


def _word(message: dict[str, Any]) -> Word:
    if message["outcome"] == "ready":
        return Ready()
    if message["outcome"] == "unusable":
        return Unusable(message["message"])
    return unpack_outcome(message)


class _Pipes:
    """The transport to processes: tasks and outcomes as JSON over pipes."""

    early = True  # a pipe holds the task until the process has started up

    def __init__(
        self, assignment: Assignment, workers: int, keep: int, threads: int, gpus: tuple[str, ...] | None
    ) -> None:
        self._hello, self._gpus = Hello.of(assignment, keep), gpus
        # Workers are ended without a word, so what they leave in their temporary folder is removed with it.
        self._temporary = tempfile.mkdtemp(prefix="popbandits-")
        self._told = dict.fromkeys(_THREADS, str(threads))
        self._told |= {"XLA_FLAGS": os.environ.get("XLA_FLAGS", XLA), "TMPDIR": self._temporary}
        self._logs = assignment.checkpoints.parent
        self._free = list(range(workers))[::-1]
        self._workers = workers

    def room(self) -> int:
        return self._workers

    def hire(self) -> _Process:
        number = self._free.pop()
        told = self._told | environment(self._gpus, number, self._workers)
        return _Process(number, self._hello, str(self._logs / f"worker-{number}.log"), told)

    def give(self, worker: _Process, task: Task) -> None:
        with contextlib.suppress(BrokenPipeError):  # it died while idle: that is noticed like any other death
            send(worker.tasks, vars(task))

    def hear(self, workers: Sequence[_Process], seconds: float) -> list[tuple[_Process, Word]]:
        if not workers:
            return []
        poll = select.poll()
        for worker in workers:
            poll.register(worker.outcomes, select.POLLIN)
            poll.register(worker.alive, select.POLLIN)
        readable = {descriptor for descriptor, _ in poll.poll(1000 * seconds)}
        spoke = [worker for worker in workers if {worker.outcomes, worker.alive} & readable]
        return [(worker, word) for worker in spoke for word in self._words(worker, worker.outcomes in readable)]

    def _words(self, worker: _Process, spoke: bool) -> list[Word]:
        """Return what a worker has said; more than one word when it did several things since."""
        try:
            messages = worker.inbox.take(worker.outcomes) if spoke else None
            return [self._death(worker)] if messages is None else [_word(message) for message in messages]
        except (GarbledError, KeyError, TypeError):
            self._ended(worker)
            return [Died("crash", _GARBLED, f"see worker-{worker.number}.log in the run's folder")]

    def _death(self, worker: _Process) -> Died:
        code = self._ended(worker)
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        # An ended process may have been ended for its memory: the kernel does so without a word.
        memory = "; was it out of memory?" if code == -signal.SIGKILL else ""
        hint = f"the last one ended with {how}; see worker-{worker.number}.log in the run's folder"
        return Died("crash", f"its worker process died ({how}{memory})", hint)

    def end(self, worker: _Process) -> None:
        self._ended(worker)

    def _ended(self, worker: _Process) -> int:
        self._free.append(worker.number)
        return worker.end()

    def close(self, workers: Sequence[_Process]) -> None:
        for worker in workers:
            self._ended(worker)
        shutil.rmtree(self._temporary, ignore_errors=True)
