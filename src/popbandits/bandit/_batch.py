"""Filling a batch (equation 7, GP-BUCB): one point after another, each knowing those before it are in training."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from popbandits._types import Floats
from popbandits.bandit._acquisition import Acquisition
from popbandits.bandit._maximise import Box, Snap, maximise, refreshed, sweep_box
from popbandits.gp import Posterior, Rows


@dataclass(frozen=True)
class Request:
    """One agent that needs hparams.

    Args:
        box: where to search, for which interval.
        acquisition: what a belief is worth.
        rng: draws the sweep.
    """

    box: Box
    acquisition: Acquisition
    rng: np.random.Generator


def choose_batch(posterior: Posterior, requests: Sequence[Request], snap: Snap) -> Floats:
    """Return a point for each request, m x D.

    The mean is that of finished rows throughout; the deviation shrinks with each point chosen, so that no two agents
    are sent to learn the same thing. Requests with one box choose one after another and share its sweep.

    Args:
        posterior: the belief, given also the agents that keep training.
        requests: the agents to choose for.
        snap: moves points to where Int and Choice have values.
    """
    chosen: dict[int, Floats] = {}
    by_box: dict[Box, list[int]] = {}
    for i, request in enumerate(requests):
        by_box.setdefault(request.box, []).append(i)
    for box, group in by_box.items():
        sweep = sweep_box(posterior, box, snap, requests[group[0]].rng)
        for i in group:
            sweep = refreshed(sweep, posterior, box.t) if i != group[0] else sweep
            chosen[i] = maximise(posterior, requests[i].acquisition, box, sweep, snap)
            posterior = posterior.while_training(Rows.plain(chosen[i][None, :], np.array([box.t])))
    return np.array([chosen[i] for i in range(len(requests))])
