"""Ask and tell: PB2 inside a training loop that is somebody else's.

A `Population` starts no process and writes no file. It says which agent trains with which hyperparameters and from
whose weights, and is told the scores.

Run it: python examples/ask_and_tell.py
"""

import numpy as np

import popbandits as pb

SPACE = {"lr": pb.Float(1e-4, 1.0, log=True)}


def train(w: float, lr: float, rng: np.random.Generator) -> float:
    """Somebody else's training: gradient steps with noise on w²."""
    for _ in range(10):
        w -= lr * (2 * w + rng.standard_normal())
    return w


def main(intervals: int = 12) -> pb.Population:
    population = pb.Population(SPACE, pb.PB2(), size=4, intervals=intervals)
    rng = np.random.default_rng(0)
    weights: dict[int, float] = {}
    decision = population.start()
    while not population.finished:
        donated = dict(weights)  # a copy takes the weights as they were when the interval began
        for action in decision.trained:
            begun = 3.0 if action.source is None else donated[action.source]
            weights[action.agent] = train(begun, action.hparams["lr"], rng)
        for action in decision.trained:  # the last of them to report is answered with the next decision
            told = population.tell(action.agent, score=-(weights[action.agent] ** 2))
        decision = told or decision
    return population


if __name__ == "__main__":
    best = main().best
    assert best is not None
    print(f"score {best.score:.4f} by agent {best.agent} in interval {best.interval}, with {best.hparams}")

# Its last line of output:
# score -0.0000 by agent 0 in interval 11, with {'lr': 0.06900671522183704}
