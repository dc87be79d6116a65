"""Ray Tune with popbandits' PB2: the import is the only line that differs from Ray's own."""

from pathlib import Path
from typing import Any

from ray import tune

import popbandits as pb
from popbandits.integrations.ray_tune import PB2  # was: from ray.tune.schedulers.pb2 import PB2


class Quadratic(tune.Trainable):  # type: ignore[misc]
    """Gradient descent on w²."""

    def setup(self, config: dict[str, Any]) -> None:
        self.w = 3.0

    def step(self) -> dict[str, float]:
        self.w -= self.config["lr"] * 2 * self.w
        return {"score": -(self.w**2)}

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        Path(checkpoint_dir, "w").write_text(repr(self.w))

    def load_checkpoint(self, checkpoint_dir: str) -> None:
        self.w = float(Path(checkpoint_dir, "w").read_text())


def main(storage: str | None = None, samples: int = 4, iterations: int = 8) -> tune.ResultGrid:
    """Train, and return Ray's results."""
    scheduler = PB2(
        time_attr="training_iteration",
        metric="score",
        mode="max",
        perturbation_interval=1,
        hyperparam_bounds={"lr": pb.Float(1e-4, 1.0, log=True)},  # or [1e-4, 1.0], as with Ray's own
        synch=True,
        seed=0,
    )
    tuner = tune.Tuner(
        Quadratic,
        tune_config=tune.TuneConfig(scheduler=scheduler, num_samples=samples),
        run_config=tune.RunConfig(storage_path=storage, name="quadratic", stop={"training_iteration": iterations}),
    )
    return tuner.fit()


if __name__ == "__main__":
    best = main().get_best_result("score", "max")
    print(best.metrics["score"], best.config)

# Its last line of output, which differs a little from machine to machine:
# -9.677549262873674e-08 {'lr': 0.5666194641175454}
