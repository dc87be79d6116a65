"""The peer: 4 trials x 20 intervals that do nothing under Ray Tune's synchronous PB2, a checkpoint each.

--reuse-actors keeps the actor of a trial that copies another; Ray's default is to start a new one.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any


def main() -> None:
    """Run Ray Tune to its end."""
    import ray
    from ray import tune
    from ray.tune.schedulers.pb2 import PB2

    class Nothing(tune.Trainable):  # type: ignore[misc]
        def setup(self, config: dict[str, Any]) -> None:
            self.steps = 0

        def step(self) -> dict[str, float]:
            self.steps += 1
            return {"score": self.steps + self.config["lr"]}

        def save_checkpoint(self, checkpoint_dir: str) -> None:
            (Path(checkpoint_dir) / "steps").write_text(json.dumps(self.steps))

        def load_checkpoint(self, checkpoint_dir: str) -> None:
            self.steps = json.loads((Path(checkpoint_dir) / "steps").read_text())

        def reset_config(self, new_config: dict[str, Any]) -> bool:
            return True

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    scheduler = PB2(
        time_attr="training_iteration",
        metric="score",
        mode="max",
        perturbation_interval=1,
        hyperparam_bounds={"lr": [1e-5, 1e-1]},
        synch=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        tune.Tuner(
            Nothing,
            param_space={"lr": tune.loguniform(1e-5, 1e-1)},
            tune_config=tune.TuneConfig(scheduler=scheduler, num_samples=4, reuse_actors="--reuse-actors" in sys.argv),
            run_config=tune.RunConfig(
                stop={"training_iteration": 20},
                storage_path=folder,
                verbose=0,
                checkpoint_config=tune.CheckpointConfig(checkpoint_frequency=1),
            ),
        ).fit()


if __name__ == "__main__":
    main()
