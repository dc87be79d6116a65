"""Hello: the first message to a worker, and how the worker gets ready with it."""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from popbandits.run._executor import Assignment
from popbandits.run._target import Target
from popbandits.run._train import Trainer


@dataclass(frozen=True)
class Hello:
    """What a worker must know before its first task.

    Args:
        module, names: of the user's code.
        checkpoints: the folder of the checkpoints.
        metric, size: of the run.
        keep: how many agents to keep in memory.
        path, argv: the controller's `sys.path` and `sys.argv`, so that imports mean the same.
        config: the user's own settings.
        code: the user's code as text, where it cannot be imported.
    """

    module: str
    names: list[str]
    checkpoints: str
    metric: str
    size: int
    keep: int
    path: list[str]
    argv: list[str]
    config: dict[str, Any]
    code: str | None

    @staticmethod
    def of(assignment: Assignment, keep: int) -> "Hello":
        """Return what to tell the workers of a run."""
        target = assignment.target
        checkpoints = str(assignment.checkpoints.resolve())
        path = [str(Path(entry or ".").resolve()) for entry in sys.path]
        return Hello(
            target.module,
            list(target.names),
            checkpoints,
            assignment.metric,
            assignment.size,
            keep,
            path,
            sys.argv,
            dict(assignment.config),
            target.sent(),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the message as plain JSON."""
        return asdict(self)

    def trainer(self, checkpoints: Path) -> Trainer:
        """Import the user's code and return what trains it.

        Raises:
            TrainableError: when it cannot be imported.
        """
        sys.argv[:] = self.argv
        target = Target(self.module, tuple(self.names)).received(self.code)
        assignment = Assignment(target, checkpoints, self.metric, self.size, self.config)
        return Trainer(assignment, target.load(self.config), self.keep)
