"""What only Ray can do: several nodes, a lost one, checkpoints through its object store."""

import resource
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popbandits as pb
from popbandits.run import ReportEntry, verify
from tests import models
from tests.clusters import ray_cluster

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray")]

SPACE = {"lr": pb.Float(0.1, 1.0)}


class Large:
    """A hundred megabytes of weights."""

    def __init__(self, seed: int) -> None:
        self.weights = np.full(25_000_000, seed % 100, dtype=np.float32)

    def step(self, hparams: Any) -> float:
        self.weights[0] += hparams["lr"]
        return float(self.weights[0])

    def save(self, path: Path) -> None:
        np.save(path / "weights.npy", self.weights)

    def load(self, path: Path) -> None:
        self.weights = np.load(path / "weights.npy")


def scores(run: pb.Run) -> list[Any]:
    history = run.history
    return sorted(zip(history.agent.tolist(), history.interval.tolist(), history.score.tolist(), strict=True))


@pytest.mark.parametrize("object_store", [False, True], ids=["folder", "store"])
def test_a_lost_node_costs_attempts_and_nothing_else(tmp_path: Path, object_store: bool) -> None:
    with ray_cluster(1, 2) as cluster:
        lost: list[bool] = []

        class KillsANode(pb.Callback):
            def on_entry(self, entry: Any) -> None:
                if isinstance(entry, ReportEntry) and entry.interval == 2 and not lost:
                    lost.append(True)
                    node = cluster.list_all_nodes()[1]
                    threading.Thread(target=cluster.remove_node, args=(node, False)).start()

        executor = pb.Ray(object_store=object_store)
        run = pb.tune(
            models.Slow,
            models.SPACE,
            population=4,
            intervals=6,
            seed=3,
            retries=5,
            executor=executor,
            directory=tmp_path / "run",
            callbacks=[KillsANode()],
        )
    assert lost
    assert run.finished
    assert len(run.history) == 24
    assert all(finding.ok for finding in verify(run.directory))
    quiet = pb.tune(
        models.Slow,
        models.SPACE,
        population=4,
        intervals=6,
        seed=3,
        executor=pb.Inline(),
        directory=tmp_path / "inline",
    )
    assert scores(run) == scores(quiet)


def test_large_checkpoints_travel_without_a_copy_on_the_controller(tmp_path: Path) -> None:
    with ray_cluster(2):
        pb.tune(
            Large, SPACE, population=2, intervals=1, executor=pb.Ray(object_store=True), directory=tmp_path / "warm"
        )
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        run = pb.tune(
            Large,
            SPACE,
            population=4,
            intervals=3,
            strategy=pb.PBT(quantile=0.5),
            executor=pb.Ray(object_store=True),
            directory=tmp_path / "run",
        )
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert run.finished
    assert ((run.history.donor != run.history.agent) & (run.history.donor >= 0)).any()
    # Pages of the object store that the controller has looked at count as its own; a copy would add as much again.
    assert grown < 4 * 100_000, f"the controller grew by {grown} kB"


def test_an_address_where_no_cluster_is_is_told_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(pb.OptionError, match=r"no Ray cluster at '127\.0\.0\.1:1'"):
        pb.tune(models.Model, models.SPACE, intervals=1, executor=pb.Ray("127.0.0.1:1"), directory=tmp_path / "run")


def test_more_than_the_cluster_has_is_refused(tmp_path: Path) -> None:
    executor = pb.Ray(resources_per_agent={"CPU": 1, "unobtainium": 1})
    with ray_cluster(1), pytest.raises(pb.OptionError, match="has room for one agent"):
        pb.tune(models.Model, models.SPACE, intervals=1, executor=executor, directory=tmp_path / "run")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"resources_per_agent": {"CPU": 0}}, "must be positive"),
        ({"resources_per_agent": {}}, "must name what an agent needs"),
        ({"workers": 0}, "`workers >= 1` must hold"),
        ({"deadline": 0}, "`deadline > 0` must hold"),
    ],
)
def test_numbers_that_cannot_be_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(pb.OptionError, match=told):
        pb.Ray(**given)
