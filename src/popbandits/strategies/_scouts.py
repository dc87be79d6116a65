"""Scouts: agents that try what lies outside the regions, so that an optimum which moved away is found again.

A scout takes the best of a few random points of the whole space: by expected improvement over the best hparams just
used, not by the upper confidence bound. One that fails costs its own interval and no more, so how far it fails does not
count; but the interval is wasted, and a bold bound returns again and again to where intervals were seen to be lost.

It keeps its weights unless it is lost. Weights differ in what they can become, which no score tells beforehand: when
every scout copied the leader, all agents soon had one ancestor, and where that got stuck they were stuck together.
"""

import numpy as np

from popbandits._random import generator
from popbandits._types import Floats
from popbandits.bandit import ExpectedImprovement
from popbandits.gp import Posterior
from popbandits.population import View
from popbandits.strategies._copying import next_interval

SCOUTED = 3
"""Random points of which a scout tries one. More would leave chance less to find, fewer would waste its intervals."""

_RECENT, _GOOD = 4, 0.75  # a good interval: the upper quartile of what agents gained in the last four


def is_lost(view: View, agent: int, donor: int) -> bool:
    """Return whether an agent is behind a donor by more than a good interval gains: it would hardly catch up."""
    history = view.history
    gains = history.improvement[-_RECENT * view.size :]
    gains = gains[np.isfinite(gains)]
    behind = float(history.score[view.last[donor]] - history.score[view.last[agent]])
    return len(gains) > 0 and behind > float(np.quantile(gains, _GOOD))


def scouted_point(view: View, agent: int, t: float, posterior: Posterior) -> Floats:
    """Return where a scout goes in interval t, shape (D,)."""
    rng = generator(view.seed, "scout", next_interval(view, agent) - 1, agent)
    points = np.array([view.space.encode(view.space.sample(rng)) for _ in range(SCOUTED)])
    return most_promising(view, points, t, posterior)


def most_promising(view: View, points: Floats, t: float, posterior: Posterior) -> Floats:
    """Return that of the points (m x D) from which most improvement is expected over the hparams last reported with."""
    used = view.history.points[[row for row in view.last if row >= 0]]
    gain = ExpectedImprovement(float(posterior.mean(used, t).max()))
    best: Floats = points[int(np.argmax(gain(*posterior.mean_and_deviation(points, t))))]
    return best
