"""On one Ray: `pb.Ray` against Ray Tune's PB2 with agents that do nothing, then both PB2s as Ray Tune's scheduler.

python -m benchmarks.ray_executor [--intervals N] [--seeds N]
"""

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import popbandits as pb
from benchmarks._speed import keep
from popbandits._random import generator
from popbandits.problems import MovingPeak
from popbandits.problems._problem import signal_size

SIZE = 8
DIM, NOISE = 3, 0.5


class Nothing:
    """Counts its steps."""

    def __init__(self, seed: int) -> None:
        self.steps = 0

    def step(self, hparams: Any) -> float:
        self.steps += 1
        return float(self.steps + hparams["x0"])

    def save(self, path: Path) -> None:
        (path / "steps").write_text(json.dumps(self.steps))

    def load(self, path: Path) -> None:
        self.steps = json.loads((path / "steps").read_text())


def overhead(intervals: int) -> None:
    """Print seconds a report of agents that do nothing."""
    space = {f"x{j}": pb.Float(0.0, 1.0) for j in range(DIM)}
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        pb.tune(Nothing, space, population=SIZE, intervals=intervals, executor=pb.Ray(), directory=Path(folder) / "run")
        ours = (time.perf_counter() - begun) / (SIZE * intervals)
    theirs, _, _ = tuned("ray", intervals, 0, nothing=True)
    theirs /= SIZE * intervals
    print(f"a report, {SIZE} agents that do nothing, {intervals} intervals, a checkpoint each:")
    what = f"a report on Ray: {SIZE} agents whose training does nothing, `pb.Ray` against Ray Tune with `reuse_actors`"
    keep(what, f"{1000 * ours:.1f} ms", f"{1000 * theirs:.0f} ms", f"{theirs / ours:.0f}x")
    print(f"  pb.Ray {1000 * ours:.1f} ms, Ray Tune's PB2 (actors reused) {1000 * theirs:.1f} ms: {theirs / ours:.1f}x")


def tuned(which: str, intervals: int, seed: int, nothing: bool = False) -> tuple[float, float, float]:
    """Run Ray Tune under one of the two schedulers; return its seconds, those in the scheduler, and the regret."""
    from ray import tune
    from ray.tune.schedulers import pb2 as rays

    from popbandits.integrations import ray_tune as ours

    problem = MovingPeak(DIM, 0.03, seed=seed)
    error = 0.0 if nothing else NOISE * signal_size(problem)

    class Agent(tune.Trainable):  # type: ignore[misc]
        def setup(self, config: dict[str, Any]) -> None:
            self.weights, self.age = problem.fresh(generator(seed, "fresh")), 0

        def step(self) -> dict[str, float]:
            self.age += 1
            hparams = {name: float(np.clip(self.config[name], 0.0, 1.0)) for name in problem.space.names}
            self.weights = problem.train(self.weights, hparams, self.age, generator(seed, "training"))
            drawn = generator(seed, "noise", self.age, int(1e6 * hparams["x0"])).standard_normal()
            return {"score": problem.score(self.weights) + error * drawn, "true": problem.score(self.weights)}

        def save_checkpoint(self, checkpoint_dir: str) -> None:
            np.savez(Path(checkpoint_dir) / "state.npz", weights=self.weights, age=self.age)

        def load_checkpoint(self, checkpoint_dir: str) -> None:
            with np.load(Path(checkpoint_dir) / "state.npz") as state:
                self.weights, self.age = state["weights"], int(state["age"])

        def reset_config(self, new_config: dict[str, Any]) -> bool:
            self.config = new_config
            self.setup(new_config)
            return True

    made: Any = rays.PB2 if which == "ray" else ours.PB2

    class Timed(made):  # type: ignore[misc]
        seconds = 0.0

        def on_trial_result(self, tune_controller: Any, trial: Any, result: Any) -> Any:
            begun = time.perf_counter()
            answer = super().on_trial_result(tune_controller, trial, result)
            Timed.seconds += time.perf_counter() - begun
            return answer

    options: dict[str, Any] = {} if which == "ray" else {"seed": seed}
    scheduler = Timed(
        time_attr="training_iteration",
        metric="score",
        mode="max",
        perturbation_interval=1,
        hyperparam_bounds={name: [0.0, 1.0] for name in problem.space.names},
        synch=True,
        **options,
    )
    np.random.seed(seed)
    drawn = {name: tune.uniform(0.0, 1.0) for name in problem.space.names}
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        grid = tune.Tuner(
            Agent,
            param_space=drawn,
            tune_config=tune.TuneConfig(scheduler=scheduler, num_samples=SIZE, reuse_actors=True),
            run_config=tune.RunConfig(stop={"training_iteration": intervals}, storage_path=folder, verbose=0),
        ).fit()
        seconds = time.perf_counter() - begun
    best = max(grid, key=lambda result: float(result.metrics["score"]))
    return seconds, Timed.seconds, 1.0 - float(best.metrics["true"]) / problem.optimum(intervals)


def schedulers(intervals: int, seeds: int) -> None:
    """Print what the two schedulers cost and find on a moving peak."""
    found = {which: [tuned(which, intervals, seed) for seed in range(seeds)] for which in ("ray", "popbandits")}
    print(
        f"Ray Tune on a moving peak, {DIM} hparams, noise {NOISE}, {SIZE} trials, {intervals} intervals, {seeds} seeds:"
    )
    theirs, ours = (float(np.mean(rows, axis=0)[1]) / intervals for rows in found.values())
    what = f"the decisions of an interval inside Ray Tune with {SIZE} trials, our scheduler against Ray's PB2"
    keep(what, f"{ours:.2f} s", f"{theirs:.2f} s", f"{theirs / ours:.0f}x")
    for which, rows in found.items():
        _, inside, regret = np.mean(rows, axis=0)
        print(f"  {which}'s PB2: {inside / intervals:.2f} s in the scheduler an interval, regret {regret:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--intervals", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    overhead(given.intervals)
    schedulers(given.intervals, given.seeds)
    ray.shutdown()
