"""The weights that a user gives a run to start from: a checkpoint of another run, or files that a save has written."""

from pathlib import Path

from popbandits._errors import OptionError, RunError
from popbandits.run._log import FILE
from popbandits.run._loop import CHECKPOINTS
from popbandits.run._trees import is_part


def given_weights(checkpoint: str | Path) -> Path:
    """Return the folder of a checkpoint that a user has named.

    Raises:
        OptionError: for something that is no path.
        RunError: when nothing is there, or a whole run.
    """
    if not isinstance(checkpoint, str | Path):
        raise OptionError(f"checkpoint is the path of a folder, but got {checkpoint!r}")
    path = Path(checkpoint)
    if not str(checkpoint) or not (path.is_dir() or is_part(path)):
        raise RunError(f"there is no checkpoint to start from at {str(checkpoint)!r}")
    if (path / FILE).exists():
        raise RunError(
            f"{path} is a run; start from one of its checkpoints, such as run.best.checkpoint, "
            f"a folder in {path / CHECKPOINTS}"
        )
    if path.is_dir() and not any(path.iterdir()):
        raise RunError(f"the checkpoint to start from, {path}, is an empty folder")
    return path
