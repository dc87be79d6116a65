"""A worker: a process that trains what it is told until its controller is gone. Started by `Processes`.

python -m popbandits.run._worker TASKS OUTCOMES        (two pipe descriptors)
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from popbandits._errors import PopbanditsError
from popbandits.run._executor import Task
from popbandits.run._hello import Hello
from popbandits.run._marked import VARIABLE, end_marked
from popbandits.run._wire import pack_outcome, receive, send

_SET_PARENT_DEATH_SIGNAL = 1  # of Linux's prctl
_OWN = os.environ.get(VARIABLE, "")  # before user code may change the environment


def main(tasks: int, outcomes: int, controller: int) -> None:
    """Take the first message, then task after task."""
    _die_with(controller)
    inbox = _Inbox(tasks)
    told = inbox.next()
    if told is None:
        return
    hello = Hello(**told)
    sys.path[:] = hello.path
    try:
        trainer = hello.trainer(Path(hello.checkpoints))
    except PopbanditsError as error:
        send(outcomes, {"outcome": "unusable", "message": str(error)})
        return
    send(outcomes, {"outcome": "ready"})
    while (message := inbox.next()) is not None:
        send(outcomes, pack_outcome(trainer.train(Task(**message))))


class _Inbox:
    """Reads in a thread of its own, so that a worker deep in user code still notices that its controller is gone."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._arrived = threading.Semaphore(0)
        self._messages: list[dict[str, Any]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> dict[str, Any] | None:
        self._arrived.acquire()
        return self._messages.pop(0) if self._messages else None

    def _read(self) -> None:
        while (message := receive(self._descriptor)) is not None:
            self._messages.append(message)
            self._arrived.release()
        _end_all(os.getpgid(0))  # its controller is gone


def _die_with(controller: int) -> None:
    """End with the controller, also when user code never lets go of the interpreter: a watcher ends the whole group.

    The watcher is a child that does nothing but wait for its own parent's parent to end. Linux is asked to end this
    process, too, in case somebody ends the watcher; but it would not end what user code has started.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the controller's to handle
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    try:
        watched = os.pidfd_open(controller)
    except ProcessLookupError:
        os._exit(1)
    if os.getppid() != controller:
        os._exit(1)  # it ended before we could watch it
    group = os.getpgid(0)
    if os.fork() == 0:
        os.closerange(3, watched)
        os.closerange(watched + 1, 256)
        own = os.getppid()
        worker = os.pidfd_open(own)
        poll = select.poll()
        poll.register(watched, select.POLLIN)
        poll.register(worker, select.POLLIN)
        poll.poll()
        _end_all(group)
        os._exit(0)
    os.close(watched)


def _end_all(group: int) -> None:
    """End what user code has started, wherever it is, and then this group, of which the caller is a part."""
    end_marked(_OWN)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
