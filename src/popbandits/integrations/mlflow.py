"""MLflow: a run of MLflow for the population, and one nested in it for each agent."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from popbandits._errors import OptionError
from popbandits.integrations._tracker import Tracker

try:
    from mlflow.tracking import MlflowClient
except ModuleNotFoundError as error:
    raise OptionError("popbandits.integrations.mlflow needs MLflow; pip install 'popbandits[tracking]'") from error

if TYPE_CHECKING:
    from popbandits.run import Run

_TAG = "popbandits.run"


class MLflow(Tracker):
    """Track with MLflow: `tune(…, callbacks=[MLflow("file:mlruns")])`.

    Args:
        tracking_uri: where to; None for MLflow's own default.
        experiment: the name of MLflow's experiment, made if there is none.
    """

    def __init__(self, tracking_uri: str | None = None, experiment: str = "popbandits") -> None:
        super().__init__()
        self._uri, self._experiment = tracking_uri, experiment
        self._runs: dict[int, str] = {}

    def open(self, run: "Run") -> None:
        """Begin to track a run, or go on with MLflow's runs of it."""
        if self._uri is not None and self._uri.startswith("file:"):
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # MLflow 3 asks for this word to use a folder
        self._runs.clear()
        self._client = MlflowClient(tracking_uri=self._uri)
        found = self._client.get_experiment_by_name(self._experiment)
        self._id = found.experiment_id if found else self._client.create_experiment(self._experiment)
        self._folder = Path(run.directory).resolve()
        self._parent = self._run(f"tags.`{_TAG}` = '{self._folder}'", self._folder.name, {})
        for name, param in run.settings.space.params.items():
            self._client.log_param(self._parent, name, str(param))

    def track(self, agent: int, interval: int, metrics: Mapping[str, float], hparams: Mapping[str, float]) -> None:
        """Log metrics, and hparams as metrics: they change over time."""
        if agent not in self._runs:
            tags = {"mlflow.parentRunId": self._parent, "popbandits.agent": str(agent)}
            own = f"tags.`mlflow.parentRunId` = '{self._parent}' and tags.`popbandits.agent` = '{agent}'"
            self._runs[agent] = self._run(own, f"agent-{agent:04d}", tags)
        for group, numbers in (("", metrics), ("hparams.", hparams)):
            for name, value in numbers.items():
                self._client.log_metric(self._runs[agent], f"{group}{name}", value, step=interval)

    def on_end(self, run: "Run") -> None:
        """Close MLflow's runs; those of a run that was interrupted are found again when it is resumed."""
        status = "FINISHED" if run.finished else "KILLED"
        for known in (*self._runs.values(), self._parent):
            self._client.set_terminated(known, status)

    def _run(self, wanted: str, name: str, tags: Mapping[str, str]) -> str:
        found = self._client.search_runs([self._id], wanted)
        if found:
            return str(found[0].info.run_id)
        every = {_TAG: str(self._folder)} if not tags else dict(tags)
        return str(self._client.create_run(self._id, run_name=name, tags=every).info.run_id)
