"""Trackers, against the packages themselves: what they wrote is read back with their own readers."""

import time
from pathlib import Path
from typing import Any

import pytest

import popbandits as pb
from popbandits.run import NoteEntry
from tests import models

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


def tune(folder: Path, callback: pb.Callback, intervals: int = 3) -> pb.Run:
    return pb.tune(
        models.Model,
        models.SPACE,
        population=2,
        intervals=intervals,
        executor=pb.Inline(),
        directory=folder / "run",
        callbacks=[callback],
    )


def test_tensorboard_has_metrics_and_hparams_of_every_agent(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    from tensorboardX.proto.event_pb2 import Event

    from popbandits.integrations.tensorboard import TensorBoard

    run = tune(tmp_path, TensorBoard())
    for agent in (0, 1):
        (file,) = (run.directory / "tensorboard" / f"agent-{agent:04d}").iterdir()
        found: dict[str, list[tuple[int, float]]] = {}
        for record in records(file):
            event = Event.FromString(record)
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value.simple_value))
        rows = [i for i in range(len(run.history)) if run.history.agent[i] == agent]
        assert [step for step, _ in found["metrics/score"]] == run.history.interval[rows].tolist()
        assert [value for _, value in found["metrics/score"]] == pytest.approx(run.history.score[rows].tolist())
        assert [value for _, value in found["hparams/lr"]] == pytest.approx(
            [run.history.hparams(i)["lr"] for i in rows]
        )
        assert "hparams/kind" not in found


def records(file: Path) -> list[bytes]:
    """The records of a TFRecord file: length, its checksum, the bytes, their checksum."""
    data, at, found = file.read_bytes(), 0, []
    while at < len(data):
        length = int.from_bytes(data[at : at + 8], "little")
        found.append(data[at + 12 : at + 12 + length])
        at += 12 + length + 4
    return found


def test_mlflow_has_a_run_for_each_agent_within_one_for_the_population(tmp_path: Path) -> None:
    pytest.importorskip("mlflow")
    from mlflow.tracking import MlflowClient

    from popbandits.integrations.mlflow import MLflow

    uri = f"file:{tmp_path}/mlruns"
    run = tune(tmp_path, MLflow(uri, "test"))
    assert not [entry for entry in run.entries if isinstance(entry, NoteEntry)]
    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("test")
    assert experiment is not None
    found: dict[str, Any] = {r.info.run_name: r for r in client.search_runs([experiment.experiment_id])}
    assert set(found) == {"run", "agent-0000", "agent-0001"}
    assert found["agent-0001"].data.tags["mlflow.parentRunId"] == found["run"].info.run_id
    assert "lr" in found["run"].data.params
    history = client.get_metric_history(found["agent-0000"].info.run_id, "score")
    rows = [i for i in range(len(run.history)) if run.history.agent[i] == 0]
    assert [m.value for m in history] == pytest.approx([float(run.history.score[i]) for i in rows])
    assert [m.step for m in history] == [1, 2, 3]


def test_weights_and_biases_logs_offline(tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    from popbandits.integrations.wandb import WandB

    run = tune(tmp_path, WandB(mode="offline", dir=str(tmp_path), project="test"))
    assert not [entry for entry in run.entries if isinstance(entry, NoteEntry)]
    (written,) = (tmp_path / "wandb").glob("offline-run-*/run-*.wandb")
    for key in (b"agent-0000/score", b"agent-0001/hparams.lr"):
        # W&B writes from a process of its own, which may be a little behind.
        until = time.monotonic() + 20
        while key not in written.read_bytes() and time.monotonic() < until:
            time.sleep(0.1)
        assert key in written.read_bytes()
