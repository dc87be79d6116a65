"""PB2 that hurries while progress is steady: a lead that the study follows, not a part of the product.

PB2 gives new hparams to one of four agents after an interval, and leaves it alone for two intervals, because one
interval tells little. How little can be read off: where agents that keep their weights and hparams often score lower
than an interval ago, a single score is mostly noise, and where they hardly ever do, it can be trusted. So in the first
part of the run, while scores hardly ever fall, all agents but the leader copy it after each interval, and the model
chooses their hparams among many neighbours of the leader's.
"""

from dataclasses import dataclass

import numpy as np

import popbandits as pb
from popbandits._types import Floats
from popbandits.population import Decision, View
from popbandits.strategies import Move, Succession, finite_scores, learned, next_interval, spent

_NEIGHBOURS = 64  # that the model chooses among while it hurries


@dataclass(frozen=True)
class WhileSteady(pb.PB2):
    """Hurry while progress is steady.

    Args:
        until: the part of the run in which it may hurry.
        most: the share of intervals in which the score of an unchanged agent may have fallen.
    """

    until: float = 0.4
    most: float = 0.125

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        """Return what the agents do next: in step only, as on the bench."""
        if not self._hurries(view, due):
            return super().decide(view, due)
        return _Hurrying(patience=1).decide(view, due)

    def _hurries(self, view: View, due: tuple[int, ...]) -> bool:
        if any(spent(view, agent) for agent in due) or len(finite_scores(view)) < view.size:
            return False
        fell, counted = falls(view)
        steady = counted > 0 and fell <= self.most * counted
        return steady and next_interval(view, due[0]) - 1 <= self.until * view.intervals


class _Hurrying(pb.PB2):
    """All but the leader copy it, once somebody has learned something."""

    def plan(self, view: View, live: tuple[int, ...]) -> Succession:
        latest, history = finite_scores(view), view.history
        now = list(view.last)
        copied = (history.before >= 0) & (history.agent[np.maximum(history.before, 0)] != history.agent)
        if not copied.any() and not learned(view, history.score[now], np.nan_to_num(history.score_error[now])).any():
            return super().plan(view, live)
        leader = max(latest, key=lambda agent: (latest[agent], -agent))
        return Succession(tuple(Move(agent, leader) for agent in live if agent != leader), ending=True)

    def candidates(self, view: View, move: Move, count: int) -> Floats:
        return super().candidates(view, move, 1 if move.anew or move.like is not None else max(count, _NEIGHBOURS))


def falls(view: View) -> tuple[int, int]:
    """Return how often the score of an agent fell that kept its weights and hparams, and how often it might have."""
    history = view.history
    before = np.maximum(history.before, 0)
    same = (history.before >= 0) & (history.agent[before] == history.agent)
    same &= (history.points[before] == history.points).all(axis=1)
    gained = (history.score - history.score[before])[same]
    return int((gained < 0).sum()), int(np.isfinite(gained).sum())
