"""Weights & Biases: one run of W&B for the population, a chart for each metric and hyperparameter, a line an agent."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from popbandits._errors import OptionError
from popbandits.integrations._tracker import Tracker

try:
    import wandb
except ModuleNotFoundError as error:
    raise OptionError("popbandits.integrations.wandb needs wandb; pip install 'popbandits[tracking]'") from error

if TYPE_CHECKING:
    from popbandits.run import Run


class WandB(Tracker):
    """Track with Weights & Biases: `tune(…, callbacks=[WandB(project="mine", mode="offline")])`.

    Args:
        options: of `wandb.init`, such as project, mode or dir.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._options = options

    def open(self, run: "Run") -> None:
        """Begin to track a run."""
        space = {name: str(param) for name, param in run.settings.space.params.items()}
        given = {"project": "popbandits", "name": run.directory.name, "config": space} | self._options
        self._run = wandb.init(**given)

    def track(self, agent: int, interval: int, metrics: Mapping[str, float], hparams: Mapping[str, float]) -> None:
        """Log one row: the interval is the axis, each agent has its own keys."""
        numbers = [*metrics.items(), *((f"hparams.{name}", value) for name, value in hparams.items())]
        row = {f"agent-{agent:04d}/{name}": value for name, value in numbers}
        self._run.log({"interval": interval, **row})

    def on_end(self, run: "Run") -> None:
        """Note the best, and close."""
        if run.history.best() is not None:
            self._run.summary["best score"] = run.best.score
        self._run.finish()
