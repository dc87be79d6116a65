"""TensorBoard: the metrics and hparams of each agent as scalars over intervals, one line an agent."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from popbandits._errors import OptionError
from popbandits.integrations._tracker import Tracker

try:
    from tensorboardX import SummaryWriter
except ModuleNotFoundError as error:
    raise OptionError(
        "popbandits.integrations.tensorboard needs tensorboardX; pip install 'popbandits[tracking]'"
    ) from error

if TYPE_CHECKING:
    from popbandits.run import Run


class TensorBoard(Tracker):
    """Write for TensorBoard: `tune(…, callbacks=[TensorBoard()])`, then `tensorboard --logdir runs`.

    Args:
        directory: where to; the folder `tensorboard` of the run by default.
    """

    def __init__(self, directory: str | Path | None = None) -> None:
        super().__init__()
        self._directory = directory
        self._writers: dict[int, Any] = {}

    def open(self, run: "Run") -> None:
        """Begin to track a run."""
        self._folder = Path(self._directory) if self._directory is not None else run.directory / "tensorboard"

    def track(self, agent: int, interval: int, metrics: Mapping[str, float], hparams: Mapping[str, float]) -> None:
        """Write scalars."""
        if agent not in self._writers:
            self._writers[agent] = SummaryWriter(str(self._folder / f"agent-{agent:04d}"))
        for group, numbers in (("metrics", metrics), ("hparams", hparams)):
            for name, value in numbers.items():
                self._writers[agent].add_scalar(f"{group}/{name}", value, interval)

    def on_end(self, run: "Run") -> None:  # noqa: ARG002
        """Write what is left, and close."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()
