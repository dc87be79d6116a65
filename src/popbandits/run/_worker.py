"""A worker: a process that trains what it is told until its controller is gone. Started by `Processes`.

python -m popbandits.run._worker TASKS OUTCOMES        (two pipe descriptors)
"""

import ctypes
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from popbandits._errors import PopbanditsError
from popbandits.run._executor import Assignment, Task
from popbandits.run._train import Trainer
from popbandits.run._trainable import Target
from popbandits.run._wire import pack_outcome, receive, send

_PR_SET_PDEATHSIG = 1


def main(tasks: int, outcomes: int) -> None:
    """Take the assignment, then task after task."""
    _die_with_the_controller()
    assignment = receive(tasks)
    if assignment is None:
        return
    sys.path[:] = assignment["path"]
    target = Target(assignment["module"], tuple(assignment["names"]))
    checkpoints = Path(assignment["checkpoints"])
    try:
        factory = target.load()
    except PopbanditsError as error:
        send(outcomes, {"outcome": "unusable", "message": str(error)})
        return
    work = Assignment(target, checkpoints, assignment["metric"], assignment["size"])
    trainer = Trainer(work, factory, room=assignment["room"])
    send(outcomes, {"outcome": "ready"})
    inbox = _Inbox(tasks)
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
        os.killpg(0, signal.SIGKILL)  # and with it what user code has started


def _die_with_the_controller() -> None:
    """Ask Linux to end this process when its parent ends, should user code never let go of the interpreter."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the controller's to handle


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
