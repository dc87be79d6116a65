"""Filling a batch (equation 7, GP-BUCB): one point after another, each knowing those before it are in training."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from popbandits._types import Floats
from popbandits.bandit._acquisition import Acquisition
from popbandits.bandit._maximise import maximise
from popbandits.gp import Posterior, Rows


@dataclass(frozen=True)
class Request:
    """One agent that needs hparams.

    Args:
        t: the interval it will train.
        before: the id of the score it will begin with (see `Rows`).
        lower, upper: the box to search, D each.
        incumbents: points known to be good, m x D.
        acquisition: what a belief is worth.
        rng: draws the sweep.
    """

    t: float
    before: int
    lower: Floats
    upper: Floats
    incumbents: Floats
    acquisition: Acquisition
    rng: np.random.Generator


def choose_batch(posterior: Posterior, requests: Sequence[Request], snap: Callable[[Floats], Floats]) -> Floats:
    """Return a point for each request, m x D.

    The mean is that of finished rows throughout; the deviation shrinks with each point chosen, so that no two agents
    are sent to learn the same thing.

    Args:
        posterior: the belief, given also the agents that keep training.
        requests: the agents to choose for, in the order in which they choose.
        snap: moves points to where Int and Choice have values.
    """
    chosen = []
    fresh_id = int(max(posterior.rows.after.max(initial=-1), posterior.rows.before.max(initial=-1))) + 1
    for i, request in enumerate(requests):
        point = maximise(
            posterior,
            request.acquisition,
            request.t,
            lower=request.lower,
            upper=request.upper,
            incumbents=request.incumbents,
            snap=snap,
            rng=request.rng,
        )
        chosen.append(point)
        row = Rows(point[None, :], np.array([request.t]), np.array([fresh_id + i]), np.array([request.before]))
        posterior = posterior.while_training(row)
    return np.array(chosen)
