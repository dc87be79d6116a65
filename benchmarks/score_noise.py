"""Whether PPO's `score_error` is right: the same weights are scored again and again, and the scores compared.

    python -m benchmarks.score_noise [--scorings N]

An agent trains for some intervals at common settings. Then its checkpoint is loaded N times, and each time it plays one
more interval without learning. The deviation of the N scores is the noise that `score_error` claims to be.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.ppo import COMMON

TASKS = ("LunarLander", "BipedalWalker")
TRAINED = (2, 8)
"""Intervals after which weights are scored: a beginner's, whose episodes are short, and some that have learned."""
NEVER = 10**9
"""A batch size that is not reached in an interval, so that nothing is learned."""


def scorings(task: str, intervals: int, count: int) -> tuple[list[float], list[float]]:
    """Return the scores of the same weights, and the error that came with each."""
    from popbandits.workloads import ppo

    agent: ppo.PPO = getattr(ppo, task)(0)
    for _ in range(intervals):
        agent.step(COMMON)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        agent.save(Path(folder))
        for seed in range(count):
            agent.load(Path(folder))
            agent.reseed(seed)
            found.append(agent.step(COMMON | {"batch_size": NEVER}))
    return [metrics["score"] for metrics in found], [metrics["score_error"] for metrics in found]


def main() -> None:
    """Print the noise and the claim, for each environment and stage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scorings", type=int, default=40)
    parser.add_argument("--tasks", default=",".join(TASKS))
    given = parser.parse_args()
    for task in given.tasks.split(","):
        variances = []
        for intervals in TRAINED:
            scores, errors = scorings(task, intervals, given.scorings)
            noise, claimed = np.std(scores, ddof=1), np.sqrt(np.mean(np.square(errors)))
            variances.append((noise**2, claimed**2))
            print(
                f"{task} after {intervals} intervals: score {np.mean(scores):.1f}, noise {noise:.2f}, "
                f"score_error {claimed:.2f}: {claimed / noise:.2f} of it",
                flush=True,
            )
        ratio = float(np.mean([np.sqrt(claimed / noise) for noise, claimed in variances]))
        print(f"{task}: score_error is {ratio:.2f} of the noise", flush=True)


if __name__ == "__main__":
    main()
