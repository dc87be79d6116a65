"""What random play scores on IMPALA's tasks, counted as the trainer counts: the line that learning must pass.

`python -m benchmarks.random_play Breakout` prints it.
"""

import argparse

import jax
import numpy as np

from popbandits.workloads import impala

_GAMES = 100
_TASKS = {task.__name__: task for task in (impala.CartPole, impala.Breakout, impala.SpaceInvaders)}


def random_score(task: type[impala.IMPALA], seed: int = 0) -> float:
    """Return the mean return of 100 games with every action drawn uniformly."""
    agent = task(seed)
    agent.weights = agent.weights | {"policy": jax.tree.map(np.zeros_like, agent.weights["policy"])}
    return agent.judge(seed, _GAMES).score


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=_TASKS)
    given = parser.parse_args()
    print(f"{given.task}: random play scores {random_score(_TASKS[given.task]):.2f}, the mean of {_GAMES} games")
