"""What every executor must do, whatever it is made of."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import popbandits as pb
from popbandits.run import Executor, verify
from tests import models
from tests.clusters import ray_cluster
from tests.run.test_tune import told

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]


@pytest.fixture(scope="module")
def wishes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of faults to happen, known to every process that trains; made before any of them is started."""
    folder = tmp_path_factory.mktemp("wishes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POPBANDITS_TEST_FAULTS", str(folder))
        yield folder


@pytest.fixture(scope="module")
def cluster(wishes: Path) -> Iterator[Any]:
    with ray_cluster(2) as cluster:
        yield cluster


@pytest.fixture(params=["inline", "processes", "ray", "ray-store"])
def executor(request: Any) -> Executor:
    if request.param == "inline":
        return pb.Inline()
    if request.param == "processes":
        return pb.Processes(workers=2)
    request.getfixturevalue("cluster")
    return pb.Ray(workers=2, object_store=request.param == "ray-store")


def tune(folder: Path, executor: Executor, trainable: Any = models.Model, **given: Any) -> pb.Run:
    options: dict[str, Any] = {"population": 4, "intervals": 4, "seed": 3} | given
    return pb.tune(trainable, models.SPACE, executor=executor, directory=folder, **options)


def test_it_trains_a_run_that_keeps_its_promises_and_decides_as_any_other(tmp_path: Path, executor: Executor) -> None:
    run = tune(tmp_path / "run", executor)
    assert run.finished
    assert told(run) == told(tune(tmp_path / "inline", pb.Inline()))
    assert all(finding.ok for finding in verify(run.directory))
    assert not [path for path in (run.directory / "checkpoints").iterdir() if path.name.startswith(".")]

    out_of_step = tune(tmp_path / "async", executor, sync=False)
    assert len(out_of_step.history) == 16
    assert all(finding.ok for finding in verify(out_of_step.directory))


def test_an_exception_is_told_with_its_traceback_and_tried_again(
    tmp_path: Path, executor: Executor, wishes: Path
) -> None:
    (wishes / "step-raise-1").touch()
    run = tune(tmp_path / "run", executor, models.Faulty)
    assert run.finished
    (failure,) = run.failures
    assert "asked for" in failure.message
    assert "ValueError" in failure.traceback


def test_code_that_cannot_be_trained_is_refused_in_one_sentence(tmp_path: Path, executor: Executor) -> None:
    with pytest.raises(pb.TrainableError, match="has no load"):
        tune(tmp_path / "run", executor, models.NoLoad)


def test_a_killed_worker_costs_one_attempt(tmp_path: Path, executor: Executor, wishes: Path) -> None:
    if isinstance(executor, pb.Inline):
        pytest.skip("what is trained in this process dies with it")
    (wishes / "save-kill-1").touch()
    run = tune(tmp_path / "run", executor, models.Faulty)
    assert told(run)[1] == told(tune(tmp_path / "inline", pb.Inline()))[1]
    (failure,) = run.failures
    assert failure.kind == "crash"


def test_an_agent_that_takes_too_long_is_ended_and_tried_again(
    tmp_path: Path, executor: Executor, wishes: Path
) -> None:
    if isinstance(executor, pb.Inline):
        pytest.skip("what is trained in this process cannot be ended from outside")
    (wishes / "step-hang-1").touch()
    run = tune(tmp_path / "run", replace(executor, deadline=3.0), models.Faulty)  # type: ignore[type-var]
    assert run.finished
    assert [failure.kind for failure in run.failures] == ["hang"]
