"""IPBT: PBT that restarts when it stalls, with longer intervals each time.

PBT decides every `step` intervals. When the best score, smoothed, has not grown over two decisions, the population
restarts: half of the agents begin with fresh weights and random hparams, the others keep their weights and draw new
hparams, and from then on PBT decides half as often. The paper shrinks and perturbs the weights of that half; a
strategy cannot reach into weights, so they are kept.
"""

import math
from dataclasses import dataclass

import numpy as np

from popbandits.strategies import (
    Action,
    Decision,
    Stop,
    Train,
    View,
    copy_step,
    keep,
    near,
    next_interval,
    random_hparams,
    spent,
    start_at_random,
)


@dataclass(frozen=True)
class IPBT:
    """PBT with restarts and growing intervals."""

    spread: float = 0.1
    patience: int = 2

    def start(self, view: View) -> Decision:
        return start_at_random(view)

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        live = tuple(agent for agent in due if not spent(view, agent))
        if not live:
            return Decision(tuple(Stop(agent) for agent in due), view.notes)
        done = min(next_interval(view, agent) for agent in live) - 1
        notes = dict(view.notes) or {"step": 1, "since": 0, "best": []}
        step, since = int(notes["step"]), int(notes["since"])
        if (done - since) % step != 0:
            return Decision(tuple(keep(view, a) if a in live else Stop(a) for a in due), notes)
        rows = [row for row in view.last if row >= 0 and math.isfinite(view.history.score[row])]
        best = [*notes["best"], float(view.history.score[rows].max()) if rows else None]
        known = [score for score in best if score is not None]
        smooth = [float(np.mean(known[max(0, i - 1) : i + 1])) for i in range(len(known))]
        stalled = len(smooth) > self.patience and max(smooth[-self.patience :]) <= smooth[-self.patience - 1]
        sources = copy_step(view, live, 0.25).sources
        if stalled and done < 0.7 * view.intervals:  # a restart near the end could not pay
            ranked = sorted(live, key=lambda a: (-_finite(view, a), a))
            fresh = set(ranked[len(ranked) - len(ranked) // 2 :])
            actions: dict[int, Action] = {
                a: Train(a, random_hparams(view, a, done), None if a in fresh or sources[a] is None else a)
                for a in live
            }
            actions[ranked[0]] = keep(view, ranked[0])
            notes = {"step": 2 * step, "since": done, "best": []}
        else:
            actions = {a: self._copied(view, a, sources[a], done) for a in live}
            notes = {"step": step, "since": since, "best": best}
        return Decision(tuple(actions.get(a, Stop(a)) for a in due), notes)

    def _copied(self, view: View, agent: int, source: int | None, done: int) -> Action:
        if source == agent:
            return keep(view, agent)
        if source is None:
            return Train(agent, random_hparams(view, agent, done))
        return Train(agent, near(view, source, agent, self.spread), source)


def _finite(view: View, agent: int) -> float:
    score = float(view.history.score[view.last[agent]])
    return score if math.isfinite(score) else -math.inf
