"""GPUs are shared out: what each worker sees, and what is refused."""

import os
from pathlib import Path
from typing import Any

import pytest

import popbandits as pb
from tests import models
from tests.run.test_first_hour import tuned


class Device(models.Model):
    """Reports which GPUs it sees."""

    def step(self, hparams: Any) -> Any:
        seen = {os.environ[name] for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")}
        assert len(seen) == 1
        shared = os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE") == "false"
        return {"score": 0.0, "gpu": float(seen.pop()), "shared": float(shared), "pid": float(os.getpid())}


def test_each_worker_sees_a_gpu_of_its_own(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,4,5")
    run = tuned(Device, tmp_path / "run", population=4, executor=pb.Processes(gpus=[3, "5"]))
    columns = run.columns()
    of_worker = dict(zip(columns["pid"], columns["gpu"], strict=True))
    assert sorted(of_worker.values()) == [3.0, 5.0], "as many workers as GPUs, each with one"
    assert set(columns["shared"]) == {0.0}
    assert run.status()["notes"] == ["workers share the GPUs 3, 5"]


def test_more_workers_than_gpus_share_them_evenly(tmp_path: Path) -> None:
    run = tuned(Device, tmp_path / "run", population=4, executor=pb.Processes(workers=4, gpus=["0", "1"]))
    columns = run.columns()
    of_worker = dict(zip(columns["pid"], columns["gpu"], strict=True))
    assert sorted(of_worker.values()) == [0.0, 0.0, 1.0, 1.0]
    assert set(columns["shared"]) == {1.0}


@pytest.mark.parametrize(
    ("visible", "gpus", "said"),
    [
        ("", 1, "this process may use none"),
        ("", [0, 1], "GPU 0 was asked for, but this process may use none"),
        ("0,1", 3, "this process may use 2: 0, 1"),
        ("0,1", [], "lists each GPU once"),
        ("0,1", [1, 1], "lists each GPU once"),
        ("0,1", [-1], "numbered from 0"),
        ("0,1", [7], "GPU 7 was asked for, but this process may use 2: 0, 1"),
        ("0,1", b"0", "a number, 'auto' or a list"),
        ("0,1", "all", "a number, 'auto' or a list"),
        ("0,1", True, "a number, 'auto' or a list"),
    ],
)
def test_gpus_that_cannot_be_are_refused(monkeypatch: Any, visible: str, gpus: Any, said: str) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with pytest.raises(pb.OptionError, match=said):
        pb.Processes(gpus=gpus)


def test_auto_takes_what_there_is(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    run = tuned(Device, tmp_path / "run", population=2, executor=pb.Processes(gpus="auto"))
    assert set(run.columns()["gpu"]) == {2.0}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert pb.Processes(gpus="auto").told() == "no GPU was found, so workers train without"
