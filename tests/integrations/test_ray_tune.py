"""Our PB2 under Ray's real Tuner: what Ray's own tests ask of its PB2, and the defects that ours must not have."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popbandits as pb

pytest.importorskip("ray.tune")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray"), pytest.mark.filterwarnings("default")]

from ray import tune  # noqa: E402
from ray.tune.schedulers import PopulationBasedTrainingReplay  # noqa: E402

from popbandits.integrations._bounds import space_from_bounds  # noqa: E402
from popbandits.integrations.ray_tune import PB2  # noqa: E402
from tests.clusters import ray_cluster  # noqa: E402

BOUNDS = {"x": [0.0, 1.0], "net": {"width": [1, 8], "kind": pb.Choice("a", "b")}}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with ray_cluster(4) as cluster:
        yield cluster


class Agent(tune.Trainable):  # type: ignore[misc]
    """Grows with hparams near the best; one of four says nan at first; the step counts two where it is told to skip."""

    def setup(self, config: dict[str, Any]) -> None:
        self.w, self.t = 0.0, 0

    def step(self) -> dict[str, Any]:
        self.t += 1
        self.w += 1.0 - (self.config["x"] - 0.3) ** 2 + 0.1 * self.config["net"]["width"]
        bad = self.config.get("bad") and self.t == 1
        clock = self.t + (self.t >= 3) * self.config.get("skip", 0)
        return {"score": math.nan if bad else self.w, "score_error": 0.25, "clock": clock}

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self.setup(new_config)
        return True

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        Path(checkpoint_dir, "state").write_text(json.dumps([self.w, self.t]))

    def load_checkpoint(self, checkpoint_dir: str) -> None:
        self.w, self.t = json.loads(Path(checkpoint_dir, "state").read_text())


class Overwrites(Agent):
    """Restores its hparams with its weights, as many a checkpoint does."""

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        super().save_checkpoint(checkpoint_dir)
        Path(checkpoint_dir, "config").write_text(json.dumps(self.config))

    def load_checkpoint(self, checkpoint_dir: str) -> None:
        super().load_checkpoint(checkpoint_dir)
        self.config = json.loads(Path(checkpoint_dir, "config").read_text())


def scheduler(**given: Any) -> PB2:
    options: dict[str, Any] = {"time_attr": "training_iteration", "metric": "score", "mode": "max"}
    options |= {"perturbation_interval": 1, "hyperparam_bounds": BOUNDS, "synch": True, "seed": 3}
    return PB2(**options | given)


def tuner(folder: Path, pb2: Any, trainable: Any = Agent, iterations: int = 5, **given: Any) -> Any:
    options: dict[str, Any] = {"param_space": {"net": {"width": tune.randint(1, 9)}}} | given
    return tune.Tuner(
        trainable,
        tune_config=tune.TuneConfig(scheduler=pb2, num_samples=4, reuse_actors=True),
        run_config=tune.RunConfig(
            storage_path=str(folder), name="run", stop={"training_iteration": iterations}, verbose=0
        ),
        **options,
    )


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "run" / "popbandits-events.jsonl").read_text().splitlines()]


def test_in_step_with_nested_bounds_a_nan_a_skipped_interval_and_a_function_of_ones_own(
    cluster: Any, tmp_path: Path
) -> None:
    seen: list[dict[str, Any]] = []

    def explore(config: dict[str, Any]) -> dict[str, Any]:
        seen.append(config)
        return config | {"explored": True}

    space = {"net": {"width": tune.randint(1, 9)}, "bad": tune.grid_search([True, False, False, False]), "skip": 2}
    pb2 = scheduler(time_attr="clock", custom_explore_fn=explore)
    grid = tune.Tuner(
        Agent,
        param_space=space,
        tune_config=tune.TuneConfig(scheduler=pb2, reuse_actors=True),
        run_config=tune.RunConfig(storage_path=str(tmp_path), name="run", stop={"training_iteration": 5}, verbose=0),
    ).fit()
    assert not grid.errors
    assert seen
    assert any(result.config.get("explored") for result in grid)
    log = events(tmp_path)
    reports = [event["report"] for event in log if "report" in event]
    decisions = [event for event in log if "actions" in event]
    assert len(reports) >= 4 * 3  # nobody waited for ever for the interval that was skipped
    assert {report[3] for report in reports if not math.isnan(report[2])} == {0.25}
    lost = next(report[0] for report in reports if math.isnan(report[2]))
    after = decisions[1]["actions"]  # the first decides how all begin
    replaced = next(action for action in after if action["agent"] == lost)
    assert replaced["source"] not in (lost, None)
    for decision in decisions:
        for action in decision["actions"]:
            if "stop" not in action:
                hparams = action["hparams"]
                assert 0.0 <= hparams["x"] <= 1.0
                assert isinstance(hparams["net"]["width"], int)
                assert 1 <= hparams["net"]["width"] <= 8
                assert hparams["net"]["kind"] in ("a", "b")
    copied = list((tmp_path / "run").glob("pbt_policy_*.txt"))
    replay = PopulationBasedTrainingReplay(str(copied[0]))
    assert replay.config


def test_out_of_step_a_run_goes_on_and_pending_agents_are_not_forgotten(cluster: Any, tmp_path: Path) -> None:
    pb2 = scheduler(synch=False)
    grid = tuner(tmp_path, pb2).fit()
    assert not grid.errors
    reports = [event["report"] for event in events(tmp_path) if "report" in event]
    assert len(reports) >= 16
    assert pb2._population is not None
    assert len(pb2._population.history) == len(reports)


def test_hparams_that_a_checkpoint_overwrites_are_told_and_training_goes_on(
    cluster: Any, tmp_path: Path, caplog: Any
) -> None:
    grid = tuner(tmp_path, scheduler(), Overwrites).fit()
    assert not grid.errors
    told = [record.getMessage() for record in caplog.records if "is in effect" in record.getMessage()]
    assert told
    assert len(set(told)) == len(told), "once for each trial and name"


def test_asked_without_reports_it_draws_hparams_within_the_bounds() -> None:
    class Copied:
        trial_id, config = "a", {"x": 0.5, "net": {"width": 3}, "data": "kept"}

    configs = [
        PB2(
            metric="m", mode="max", hyperparam_bounds={"x": [0.0, 1.0], "net": {"width": [1, 8]}}, seed=seed
        )._get_new_config(Copied, Copied)[0]
        for seed in (0, 0, 1)
    ]
    assert configs[0] == configs[1] != configs[2]
    assert all(0 <= config["x"] <= 1 and 1 <= config["net"]["width"] <= 8 for config in configs)
    assert all(config["data"] == "kept" for config in configs)


def test_numbers_of_numpy_are_numbers() -> None:
    space = space_from_bounds({"n": [1, 8], "x": [0.0, 1.0]}, [{"n": np.int64(3), "x": np.float64(0.2)}])
    assert isinstance(space.params["n"], pb.Int)
    assert isinstance(space.params["x"], pb.Float)


@pytest.mark.parametrize(
    ("bounds", "told"),
    [
        ({}, "hyperparam_bounds"),
        ({"x": [1.0, 0.0]}, "low <= high"),
        ({"x": 3.0}, r"bounds are \[low, high\], Float, Int or Choice, but 'x' has 3.0"),
        ({"x": {"y": [1, 2, 3]}}, "but 'x.y' has"),
    ],
)
def test_bounds_that_cannot_be_are_refused(bounds: Any, told: str) -> None:
    with pytest.raises(Exception, match=told):
        scheduler(hyperparam_bounds=bounds)


def test_state_survives_save_and_restore(tmp_path: Path) -> None:
    pb2 = scheduler()
    pb2._agents = {"a": 0, "b": 1}
    pb2._become(
        json.dumps({"agents": {"a": 0, "b": 1}, "times": {"0": 1.0}})
        + '\n{"actions": [{"agent": 0, "hparams": {"x": 0.5, "net": {"width": 2, "kind": "a"}}, "source": null}, '
        + '{"agent": 1, "hparams": {"x": 0.1, "net": {"width": 3, "kind": "b"}}, "source": null}], "notes": {}}\n'
        + '{"report": [0, 1, 2.0]}\n'
    )
    pb2.save(str(tmp_path / "state"))
    other = scheduler()
    other.restore(str(tmp_path / "state"))
    assert other._population is not None
    assert list(other._population.training) == [1]
    assert other._times == {0: 1.0}


class FailsOnce(Agent):
    """One trial raises in its second step, once."""

    def step(self) -> dict[str, Any]:
        mark = Path(self.config["mark"])
        if self.t == 1 and not mark.exists():
            mark.touch()
            raise RuntimeError("asked for")
        return super().step()


def test_a_trial_that_ray_tries_again_stays_in_the_population(cluster: Any, tmp_path: Path) -> None:
    space = {"net": {"width": 4}, "mark": str(tmp_path / "mark"), "x": tune.uniform(-1.0, 2.0)}
    pb2 = scheduler()
    grid = tune.Tuner(
        FailsOnce,
        param_space=space,
        tune_config=tune.TuneConfig(scheduler=pb2, num_samples=3, reuse_actors=True),
        run_config=tune.RunConfig(
            storage_path=str(tmp_path),
            name="run",
            stop={"training_iteration": 4},
            verbose=0,
            failure_config=tune.FailureConfig(max_failures=1),
        ),
    ).fit()
    assert not grid.errors
    assert all(result.metrics["training_iteration"] >= 4 for result in grid)
    reports = [event["report"] for event in events(tmp_path) if "report" in event]
    # The last interval of a trial is its end, which is no report: three intervals of each of three are.
    assert sorted((agent, interval) for agent, interval, score, _ in reports if not math.isnan(score)) == [
        (agent, interval) for agent in range(3) for interval in range(1, 4)
    ]
