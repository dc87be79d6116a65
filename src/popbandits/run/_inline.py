"""Inline: agents are trained in this process, one after another. For debugging and tests."""

import os
from collections import deque
from dataclasses import dataclass, replace

from popbandits.run._executor import Assignment, Outcome, Task
from popbandits.run._train import Trainer


@dataclass(frozen=True)
class Inline:
    """Train in this process, one agent after another; a debugger sees everything."""

    def open(self, assignment: Assignment) -> "_InlineSession":
        """Start for one run."""
        return _InlineSession(assignment)


class _InlineSession:
    def __init__(self, assignment: Assignment) -> None:
        # User code may change the folder it works in, and the run's may be relative to where the program was started.
        assignment = replace(assignment, checkpoints=assignment.checkpoints.absolute())
        self._trainer = Trainer(assignment, assignment.target.load(assignment.config), room=assignment.size)
        self._waiting: deque[Task] = deque()

    def submit(self, task: Task) -> None:
        self._waiting.append(task)

    def wait(self, seconds: float) -> list[Outcome]:  # noqa: ARG002  (what is here to do is done at once)
        if not self._waiting:
            return []
        here = os.getcwd()
        try:
            return [self._trainer.train(self._waiting.popleft())]
        finally:
            os.chdir(here)

    def close(self) -> None:
        self._waiting.clear()
