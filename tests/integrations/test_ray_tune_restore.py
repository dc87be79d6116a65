"""A Tuner that was interrupted, and restored in another Ray, decides with all it had learned."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray.tune")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("ray"), pytest.mark.filterwarnings("default")]

from ray import tune  # noqa: E402

from tests.clusters import ray_cluster  # noqa: E402
from tests.integrations.test_ray_tune import Agent, events, scheduler  # noqa: E402


def test_a_restored_tuner_has_not_forgotten_what_was_learned(tmp_path: Path) -> None:
    stopped = tmp_path / "stopped"

    class StopsHalfway(tune.Callback):  # type: ignore[misc]
        def on_trial_result(self, iteration: int, trials: Any, trial: Any, result: Any, **info: Any) -> None:
            if result["training_iteration"] >= 3 and not stopped.exists():
                stopped.touch()
                raise KeyboardInterrupt

    begun = tune.Tuner(
        Agent,
        param_space={"net": {"width": 4}},
        tune_config=tune.TuneConfig(scheduler=scheduler(), num_samples=4, reuse_actors=True),
        run_config=tune.RunConfig(
            storage_path=str(tmp_path),
            name="run",
            stop={"training_iteration": 6},
            verbose=0,
            callbacks=[StopsHalfway()],
        ),
    )
    # A cluster of its own, and another for the rest: nothing but files is left of the first.
    with ray_cluster(4), pytest.raises(BaseException):  # noqa: B017, PT011  (however Ray passes it on)
        begun.fit()
    before = [event for event in events(tmp_path) if "report" in event]
    assert before
    with ray_cluster(4):
        grid = tune.Tuner.restore(str(tmp_path / "run"), Agent, resume_unfinished=True).fit()
        assert not grid.errors
    after = [event for event in events(tmp_path) if "report" in event]
    assert after[: len(before)] == before
    assert len(after) > len(before)
    last = [event for event in events(tmp_path) if event.get("notes")][-1]
    assert last["notes"]["rows"] >= len(before)
