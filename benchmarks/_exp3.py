"""PB2 with a bandit of its own for categories: TV.EXP3.M, as PB2-Mix has it. For the study of whether that pays.

Each Choice gets its value from exponential weights over what its values have gained so far, forgotten at a constant
rate; the numbers are then chosen by PB2's own model, given those values.
"""

from dataclasses import dataclass, replace

import numpy as np

from benchmarks._moved import moved
from popbandits._random import generator
from popbandits._types import Floats
from popbandits.bandit import Request, UpperConfidenceBound, choose_batch
from popbandits.population import Action, Decision, View
from popbandits.strategies import PB2, PB2Notes, copy_step, next_interval
from popbandits.strategies._evidence import in_training
from popbandits.strategies._scouts import SCOUTED, most_promising

_RATE, _FORGET = 0.3, 0.05


@dataclass(frozen=True)
class MixPB2(PB2):
    """PB2 whose categories are drawn by TV.EXP3.M."""

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        decision = super().decide(view, due)
        choice = view.space.is_choice
        model, notes = self.model(view.history, decision.notes, view.size), PB2Notes.from_json(decision.notes)
        if model is None or notes is None or not choice.any():
            return decision
        sources = {action.agent: action.source for action in decision.trained}
        worst = copy_step(view, due, self.quantile)
        movers = [action for action in decision.trained if moved(action, view)]
        keepers = [action.agent for action in decision.trained if action not in movers]
        posterior = model.while_training(in_training(view, keepers))
        again: dict[int, Action] = {}
        # As in PB2 itself: scouts first, and every choice knows those before it.
        for action in sorted(movers, key=lambda action: worst.sources[action.agent] != action.agent):
            agent, t = action.agent, next_interval(view, action.agent)
            rng = generator(view.seed, "exp3", t, agent)
            units = {j: _drawn(view, j, rng) for j in np.flatnonzero(choice).tolist()}

            def snap(points: Floats, units: dict[int, float] = units) -> Floats:
                snapped = view.space.snap(points)
                for j, unit in units.items():
                    snapped[:, j] = unit
                return snapped

            before = -1 if action.source is None else view.last[action.source]
            if worst.sources[agent] == agent:
                points = np.array([view.space.encode(view.space.sample(rng)) for _ in range(SCOUTED)])
                point = most_promising(view, snap(points), float(t), posterior)
            else:
                bound = UpperConfidenceBound(self._beta(t, view.space.dim))
                request = Request(self._box(view, notes.theta, agent, sources), before, bound, rng)
                (point,) = choose_batch(posterior, [request], snap)
            posterior = posterior.while_training(posterior.rows.another(point, float(t), before))
            again[agent] = action._replace(hparams=view.space.decode(point))
        return replace(decision, actions=tuple(again.get(action.agent, action) for action in decision))


def _drawn(view: View, j: int, rng: np.random.Generator) -> float:
    """Draw a value of one Choice, in the unit cube, by exponential weights over its gains."""
    values = np.unique(view.space.active[j].snap(np.linspace(0, 1, 1001)))
    k = len(values)
    weights = np.ones(k)
    history = view.history
    for interval in np.unique(history.interval):
        rows = np.flatnonzero((history.interval == interval) & np.isfinite(history.improvement))
        if len(rows) < 2:
            continue
        gains = history.improvement[rows]
        span = float(gains.max() - gains.min()) or 1.0
        odds = (1 - _RATE) * weights / weights.sum() + _RATE / k
        estimate = np.zeros(k)
        # Only what was drawn counts: an agent that kept its value did not keep it by today's odds.
        kept = (history.points[rows] == history.points[history.before[rows]]).all(axis=1)
        drawn = ~kept | (history.donor[rows] != history.agent[rows])
        for row, gain in zip(rows[drawn], ((gains - gains.min()) / span)[drawn], strict=True):
            i = int(np.argmin(np.abs(values - history.points[row, j])))
            estimate[i] += gain / odds[i] / drawn.sum()
        weights = weights * np.exp(_RATE * estimate / k)
        weights = weights + np.e * _FORGET / k * weights.sum()
        weights /= weights.sum()
    odds = (1 - _RATE) * weights / weights.sum() + _RATE / k
    return float(values[rng.choice(k, p=odds / odds.sum())])
