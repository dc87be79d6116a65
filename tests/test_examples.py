"""The examples, as a user runs them, at a small scale."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import popbandits as pb
from popbandits.strategies import Strategy
from popbandits.testing import STRATEGY_CHECKS
from tests.clusters import ray_cluster

ROOT = Path(__file__).parent.parent
FASHION = Path("/usr/share/datasets/fashion-mnist")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.mark.parametrize(
    ("name", "trainable", "metric", "needs"),
    [
        ("sb3_cartpole", "Agent", "score", "stable_baselines3"),
        ("lightning_digits", "Agent", "accuracy", "lightning"),
        ("pytorch_fashion", "Net", "accuracy", "torch"),
        ("jax_functions", "Agent", "score", "flax"),
        ("transformers_copying", "Agent", "eval_loss", "transformers"),
    ],
)
def test_a_trainable_of_an_example_trains_on_worker_processes(
    name: str, trainable: str, metric: str, needs: str, tmp_path: Path
) -> None:
    pytest.importorskip(needs)
    if name == "pytorch_fashion" and not FASHION.exists():
        pytest.skip("its data are not here: apt-get install dataset-fashion-mnist")
    code = (
        f"import popbandits as pb; from examples import {name} as example\n"
        f"run = pb.tune(example.{trainable}, example.SPACE, population=2, intervals=2, metric={metric!r},"
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


@pytest.mark.parametrize("name", ["ask_and_tell", "own_strategy"])
def test_an_example_prints_what_it_says_at_its_end(name: str, tmp_path: Path) -> None:
    """The last line of these files is what they print, so it is the same every time."""
    program = ROOT / "examples" / f"{name}.py"
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert program.read_text().splitlines()[-1] == f"# {done.stdout.splitlines()[-1]}"


@pytest.mark.parametrize("check", STRATEGY_CHECKS)
def test_the_strategy_of_an_example_keeps_to_the_contract(check: Callable[[Strategy], None]) -> None:
    from examples.own_strategy import Middle

    check(Middle())


def test_the_notebook_trains_a_class_of_its_own_on_workers_and_shows_it(tmp_path: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(ROOT / "examples" / "first_run.ipynb", as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=200, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    shown = [output["data"] for cell in notebook.cells for output in cell.get("outputs", ()) if "data" in output]
    pages = [data["text/html"] for data in shown if "text/html" in data]
    assert any("48/48 reports" in page for page in pages), "the table that followed the run, as it was at the end"
    assert any("<svg" in page and "the schedule of the best weights" in page for page in pages), "the run itself"
    assert any("application/vnd.plotly.v1+json" in data for data in shown), "a figure"
    (folder,) = (tmp_path / "runs").iterdir()
    assert sorted(file.name for file in folder.glob("worker-*.log")) == ["worker-0.log", "worker-1.log"]
    assert pb.load(folder).settings.target.module == "", "the class was sent, not imported"
