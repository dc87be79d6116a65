"""How fast PPO trains: beside the same environments played at random, and beside RLlib's PPO on one core.

make bench-ppo                                RLlib is installed into an environment of its own, for this only
python -m benchmarks.ppo                      without RLlib
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks._speed import keep

COMMON = {"batch_size": 4000, "gae_lambda": 0.95, "clip": 0.2, "lr": 3e-4}
TASKS = {"BipedalWalker": "BipedalWalker-v3", "LunarLander": "LunarLanderContinuous-v3"}
PUBLISHED = {
    "BipedalWalker": "RL Zoo 213 ± 129 after 5M steps; the PB2 paper's best of four random settings 234",
    "LunarLander": "RL Zoo, tuned, 271 ± 32; the PB2 paper's best of four random settings 161",
    "Hopper": "RL Zoo 2410, CleanRL 2387 ± 645; the PB2 paper's best of four random settings 1638",
    "InvertedDoublePendulum": "CleanRL 5631 ± 378; the PB2 paper's best of four random settings 8094",
}
"""What is published for PPO: RL Zoo's and CleanRL's benchmark tables, after 10^6 steps unless it says otherwise."""


def at_random(task: str, seconds: float) -> float:
    """Return the steps a second of random play."""
    import numpy as np

    from popbandits.workloads import ppo
    from popbandits.workloads._environments import make_environments

    played: type[ppo.PPO] = getattr(ppo, task)
    envs = make_environments(played.environment, played.count, 0)
    rng = np.random.default_rng(0)
    envs.reset()
    shape = (played.count, envs.action_space.shape[0])
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        envs.step(rng.uniform(-1, 1, shape).astype(np.float32))
        steps += played.count
    return steps / (time.perf_counter() - start)


def learning(task: str, seconds: float, out: Any = None) -> float:
    """Return the steps a second of training, after the first update has compiled."""
    from popbandits.workloads import ppo

    agent = getattr(ppo, task)(0)
    agent.step(COMMON | {"interval": 4000})
    before, start = agent.steps, time.perf_counter()
    while time.perf_counter() - start < seconds:
        agent.step(COMMON)  # a whole interval: a short one, in which no episode ends, is played on
    pace = float(agent.steps - before) / (time.perf_counter() - start)
    if out is not None:
        out.put(pace)
    return pace


def together(task: str, workers: int, seconds: float) -> float:
    """Return the steps a second of several processes that train at once."""
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    processes = [context.Process(target=learning, args=(task, seconds, out)) for _ in range(workers)]
    for process in processes:
        process.start()
    paces = [out.get() for _ in processes]
    for process in processes:
        process.join()
    return float(sum(paces))


START = """
import time
begin = time.perf_counter()
from popbandits.workloads import ppo
agent = ppo.BipedalWalker(0)
agent._collect()
print(time.perf_counter() - begin)
agent.step({"batch_size": 1000, "gae_lambda": 0.95, "clip": 0.2, "lr": 3e-4, "interval": 1500})
print(time.perf_counter() - begin)
"""


def starts() -> None:
    """Print how long a process takes to its first environment step and first update, twice with one cache."""
    with tempfile.TemporaryDirectory(prefix="popbandits-bench-") as cache:
        for words in ("with nothing compiled", "with the compilation cache"):
            run = subprocess.run(
                [sys.executable, "-c", START],
                env=os.environ | {"XDG_CACHE_HOME": cache},
                check=True,
                capture_output=True,
                text=True,
            )
            first, update = map(float, run.stdout.split())
            print(f"start to the first environment step, {words}: {first:.1f} s (first update {update:.1f} s)")


def sound(task: str, seeds: int) -> None:
    """Print the score after a million steps at common settings."""
    from popbandits.workloads import ppo

    scores = []
    for seed in range(seeds):
        agent = getattr(ppo, task)(seed)
        score = 0.0
        for _ in range(20):
            score = agent.step(COMMON)["score"]
        scores.append(score)
    listed = ", ".join(f"{score:.0f}" for score in scores)
    print(f"{task} after 10^6 steps at {COMMON}: {listed} ({PUBLISHED[task]})", flush=True)


def peer(python: str, name: str) -> float:
    """Return the steps a second of RLlib's PPO, measured in its own environment."""
    script = Path(__file__).with_name("rllib_ppo.py")
    run = subprocess.run([python, str(script), name], check=True, capture_output=True, text=True)
    return float(run.stdout.split()[-1])


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rllib", metavar="PYTHON", help="the interpreter of an environment that has RLlib")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--sound", type=int, metavar="SEEDS", help="train to a million steps instead")
    given = parser.parse_args()
    if given.sound:
        for task in PUBLISHED:
            sound(task, given.sound)
        return
    for task, name in TASKS.items():
        random, ours = at_random(task, given.seconds), together(task, 1, given.seconds)
        print(f"{name}: random play {random:,.0f} steps/s, PPO {ours:,.0f} steps/s: {ours / random:.0%}")
        what = f"PPO's steps a second on {name}, against random play"
        keep(what, f"{ours:,.0f}", f"{random:,.0f}", f"{ours / random:.0%}")
        if given.rllib:
            theirs = peer(given.rllib, name)
            print(f"{name}: RLlib's PPO {theirs:,.0f} steps/s; ours is {ours / theirs:.0f}x")
            what = f"PPO's steps a second on {name}, against RLlib's"
            keep(what, f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:.0f}x")
    one, two = together("BipedalWalker", 1, given.seconds), together("BipedalWalker", 2, given.seconds)
    print(f"two workers {two:,.0f} steps/s, one {one:,.0f} steps/s: {two / one:.2f}x")
    starts()
    learning("BipedalWalker", 5)
    print(f"memory of a PPO agent's process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")


if __name__ == "__main__":
    main()
