"""Training one task where the agent is: in this process. Used by `Inline` and by every worker."""

import copy
import errno
import os
import time
import traceback
from collections import OrderedDict
from dataclasses import dataclass

from popbandits._errors import DataError, PopbanditsError, RunError
from popbandits.run._blame import blame, said_by
from popbandits.run._checkpoints import beside, damage, seal
from popbandits.run._entries import Seconds
from popbandits.run._executor import Assignment, Done, Failed, Outcome, Task
from popbandits.run._step import check_in_effect, scored
from popbandits.run._trainable import Factory, Trainable, check_methods

_LONGEST = 20_000  # letters of a traceback that are kept
_STORAGE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)


@dataclass
class _Held:
    trainable: Trainable
    checkpoint: str


class Trainer:
    """Agents in memory, at most `room` of them: one that keeps its weights is not loaded again."""

    def __init__(self, assignment: Assignment, factory: Factory, room: int) -> None:
        self._assignment, self._factory, self._room = assignment, factory, room
        self._held: OrderedDict[int, _Held] = OrderedDict()

    def holds(self, task: Task) -> bool:
        """Return whether a task can go on without loading."""
        held = self._held.get(task.agent)
        return held is not None and held.checkpoint == task.load

    def train(self, task: Task) -> Outcome:
        """Load, step, save and seal; whatever user code raises becomes a `Failed`."""
        process = os.getpid()
        try:
            started = time.monotonic()
            trainable = self._ready(task)
            loaded = time.monotonic()
            # A copy: what user code does to its dict must not reach the core.
            result = trainable.step(copy.deepcopy(dict(task.hparams)))
            _end_if_forked(process)
            score, metrics = scored(result, self._assignment.metric)
            check_in_effect(trainable, task.hparams)
            trained = time.monotonic()
            path = beside(self._assignment.checkpoints, task.save)
            trainable.save(path)
            seal(path)
            self._held[task.agent] = _Held(trainable, task.save)
            self._held.move_to_end(task.agent)
            while len(self._held) > self._room:
                self._held.popitem(last=False)
            times = Seconds(loaded - started, trained - loaded, time.monotonic() - trained)
            return Done(task, score, metrics, times, task.save, task.save)
        except (Exception, SystemExit) as error:  # a step that calls sys.exit has failed, and not ended the run
            _end_if_forked(process, error)
            self._held.pop(task.agent, None)
            return _failed(task, error)

    def _ready(self, task: Task) -> Trainable:
        if task.load is None:
            return self._made(task.seed)
        if self.holds(task):
            return self._held[task.agent].trainable
        path = self._assignment.checkpoints / task.load
        wrong = damage(path)
        if wrong is not None:
            raise _DamagedError(f"the checkpoint {task.load} is damaged: {wrong}")
        held = self._held.pop(task.agent, None)
        trainable = held.trainable if held is not None else self._made(task.seed)
        trainable.load(path)
        reseed = getattr(trainable, "reseed", None)
        if task.reseed is not None and reseed is not None:
            reseed(task.reseed)
        return trainable

    def _made(self, seed: int) -> Trainable:
        # Copies: what user code does to its settings must not reach the next agent that is made of them.
        made = self._factory(seed, **copy.deepcopy(dict(self._assignment.config)))
        check_methods(made, f"what {self._assignment.target.names[0]} makes")
        return made


class _DamagedError(RunError):
    """A checkpoint that must not be loaded."""


def _end_if_forked(process: int, error: BaseException | None = None) -> None:
    """End a process that user code has forked and that came back here: it must not go on as a second trainer.

    Args:
        process: the id of the one that began the task.
        error: what it came back with.
    """
    if os.getpid() == process:
        return
    code = error.code if isinstance(error, SystemExit) else None if error is None else 1
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _failed(task: Task, error: BaseException) -> Failed:
    text = _shortened("".join(traceback.format_exception(error)))
    if isinstance(error, _DamagedError):
        return Failed(task, "checkpoint", said_by(error))
    if isinstance(error, DataError):
        return Failed(task, "data", said_by(error), text)
    if isinstance(error, PopbanditsError):
        return Failed(task, "result", said_by(error), text)
    if isinstance(error, OSError) and error.errno in _STORAGE:
        return Failed(task, "storage", f"{error.strerror} ({error.filename})", text)
    kind = "memory" if isinstance(error, MemoryError) else "exception"
    return Failed(task, kind, blame(error), text)


def _shortened(text: str) -> str:
    """Return a traceback without the middle of a very long one: it goes into the log, and to every page."""
    if len(text) <= _LONGEST:
        return text
    half = _LONGEST // 2
    return f"{text[:half]}\n… {len(text) - _LONGEST} letters left out …\n{text[-half:]}"
