"""One run of a strategy on a problem, in memory."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from popbandits._random import generator
from popbandits.population import History, Population, Strategy
from popbandits.problems._problem import Problem, Weights, signal_size


@dataclass(frozen=True)
class Simulated:
    """How a run ended.

    Args:
        regret: of the agent that reported the highest score at its end: 0 is the optimum, 1 is not having trained.
        score: of the same agent, as it is.
        history: every report.
        notes: of the last decision.
    """

    regret: float
    score: float
    history: History
    notes: Mapping[str, Any]


def simulate(
    problem: Problem,
    strategy: Strategy,
    *,
    size: int,
    intervals: int,
    seed: int = 0,
    noise: float = 0.0,
    score_error: float | None = None,
) -> Simulated:
    """Train a population on a problem and return its regret.

    Args:
        problem, strategy: what and how.
        size, intervals, seed: of the population.
        noise: the deviation of a reported score, in units of the problem's signal.
        score_error: the deviation of a reported score as it is; the strategy is told. In place of `noise`.
    """
    population = Population(problem.space, strategy, size=size, intervals=intervals, seed=seed)
    weights: dict[int, Weights] = {}
    ages: dict[int, int] = {}
    deviation = score_error if score_error is not None else noise * signal_size(problem) if noise else 0.0
    decision = population.start()
    while population.training:
        donated, aged = dict(weights), dict(ages)  # a donor may itself be replaced in the same decision
        for action in decision.trained:
            job = population.training[action.agent]
            fresh = action.source is None
            key = (job.interval, action.agent)
            begun = problem.fresh(generator(seed, "fresh", *key)) if action.source is None else donated[action.source]
            # Problems change with the training of the weights, not with how often their agent has begun anew.
            ages[action.agent] = 1 if fresh else aged[action.source or 0] + 1
            rng = generator(seed, "training", *key)
            weights[action.agent] = problem.train(begun, action.hparams, ages[action.agent], rng)
            error = deviation * generator(seed, "noise", *key).standard_normal()
            score = problem.score(weights[action.agent]) + error
            decision = population.tell(action.agent, score, score_error=score_error) or decision
    history = population.history
    final = [int(np.flatnonzero(history.agent == agent)[-1]) for agent in weights]
    chosen = int(history.agent[max(final, key=lambda row: _finite(float(history.score[row])))])
    score = problem.score(weights[chosen])
    best, worst = problem.optimum(intervals), problem.score(problem.fresh(generator(seed, "untrained")))
    unit = best - worst if best != worst else 1.0  # in a run too short to gain anything there is nothing to measure by
    return Simulated((best - score) / unit, score, history, population.notes)


def _finite(score: float) -> float:
    return score if np.isfinite(score) else -np.inf
