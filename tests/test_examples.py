"""The examples, as a user runs them, at a small scale."""

import subprocess
import sys
from pathlib import Path

import pytest

import popbandits as pb
from tests.clusters import ray_cluster

ROOT = Path(__file__).parent.parent

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.mark.parametrize("name", ["sb3_cartpole", "lightning_digits"])
def test_a_trainable_of_an_example_trains_on_worker_processes(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    code = (
        f"import popbandits as pb; from examples import {name} as example\n"
        "metric = 'accuracy' if 'digits' in example.__name__ else 'score'\n"
        f"run = pb.tune(example.Agent, example.SPACE, population=2, intervals=2, metric=metric,"
        f" executor=pb.Processes(workers=1), directory={str(tmp_path / 'run')!r})\n"
        "assert run.finished and not run.failures, run.failures"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=200)
    assert pb.load(tmp_path / "run").finished


@pytest.mark.xdist_group("ray")
def test_ray_tune_with_our_scheduler(tmp_path: Path) -> None:
    pytest.importorskip("ray.tune")
    from examples.ray_tune import main

    with ray_cluster(2):
        grid = main(str(tmp_path), samples=2, iterations=3)
    assert not grid.errors
    assert len(grid) == 2
