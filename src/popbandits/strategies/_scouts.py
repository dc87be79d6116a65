"""Scouts: copies that try what lies outside the regions, so that an optimum which moved away is found again.

A scout takes the best of a few random points of the whole space: by expected improvement over the best hparams in use,
not by the upper confidence bound. A scout that fails is replaced after one interval, so how far it fails does not
count; but it is wasted, and a bold bound returns again and again to where intervals were seen to be lost.
"""

import numpy as np

from popbandits._random import generator
from popbandits._types import Floats
from popbandits.bandit import ExpectedImprovement
from popbandits.gp import Posterior
from popbandits.population import View
from popbandits.strategies._copying import next_interval

SCOUTED = 4
"""Random points of which a scout tries one. More would leave chance less to find."""


def scouted_point(view: View, agent: int, t: float, posterior: Posterior) -> Floats:
    """Return where a scout goes in interval t, shape (D,)."""
    rng = generator(view.seed, "scout", next_interval(view, agent) - 1, agent)
    points = np.array([view.space.encode(view.space.sample(rng)) for _ in range(SCOUTED)])
    return most_promising(view, points, t, posterior)


def most_promising(view: View, points: Floats, t: float, posterior: Posterior) -> Floats:
    """Return that of the points (m x D) from which most improvement is expected over the hparams now in use."""
    in_use = view.history.points[[row for row in view.last if row >= 0]]
    gain = ExpectedImprovement(float(posterior.mean(in_use, t).max()))
    best: Floats = points[int(np.argmax(gain(*posterior.mean_and_deviation(points, t))))]
    return best
