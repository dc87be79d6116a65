"""DexPBT, as in IsaacGymEnvs: gates and delays against copies that noise alone would suggest.

No copies until two intervals have passed, nor within an interval of the agent's last copy. The worst eighth copies
one of the best 30 %, but only if the gap exceeds half of the deviation of all scores and 5 % of the donor's;
otherwise it keeps its weights and only mutates. A mutation moves each hyperparameter, with probability 0.15, by a
factor between 1.1 and 1.5, up or down. Scores here are fresh in every interval, so there is no window of episodes to
wait for.
"""

import math
from dataclasses import dataclass

import numpy as np

from popbandits.space import Choice, Int
from popbandits.strategies import (
    Action,
    Decision,
    Stop,
    Train,
    View,
    finite_scores,
    generator,
    keep,
    next_interval,
    random_hparams,
    spent,
    start_at_random,
)


@dataclass(frozen=True)
class DexPBT:
    """Copies behind gates, with small mutations."""

    delay: int = 2
    worst: float = 0.125
    best: float = 0.3
    deviations: float = 0.5
    share: float = 0.05
    rate: float = 0.15

    def start(self, view: View) -> Decision:
        return start_at_random(view)

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        return Decision(tuple(self._next(view, agent) for agent in due))

    def _next(self, view: View, agent: int) -> Action:
        if spent(view, agent):
            return Stop(agent)
        done = next_interval(view, agent) - 1
        scores = finite_scores(view)
        finite = sorted(scores, key=lambda a: (scores[a], a))
        if not finite:
            return Train(agent, random_hparams(view, agent, done))
        rng = generator(view.seed, "dexpbt", done, agent)
        top = finite[-max(1, math.ceil(self.best * len(finite))) :]
        donor = int(top[int(rng.integers(len(top)))])
        if agent not in finite:
            return Train(agent, self._mutated(view, donor, rng), donor)
        bottom = finite[: max(1, math.ceil(self.worst * len(finite)))]
        if agent not in bottom or agent in top or done < self.delay or self._has_just_copied(view, agent):
            return keep(view, agent)
        gap = scores[donor] - scores[agent]
        spread = float(np.std([scores[a] for a in finite]))
        if gap > self.deviations * spread and gap > self.share * abs(scores[donor]):
            return Train(agent, self._mutated(view, donor, rng), donor)
        return Train(agent, self._mutated(view, agent, rng), agent)

    def _has_just_copied(self, view: View, agent: int) -> bool:
        donor = int(view.history.donor[view.last[agent]])
        return donor >= 0 and donor != agent

    def _mutated(self, view: View, source: int, rng: np.random.Generator) -> dict[str, object]:
        flat = view.space.flat(view.history.hparams(view.last[source]))
        for name in view.space.names:
            if rng.random() >= self.rate:
                continue
            param = view.space.params[name]
            if isinstance(param, Choice):
                flat[name] = param.sample(rng)
                continue
            factor = float(rng.uniform(1.1, 1.5)) ** (1 if rng.random() < 0.5 else -1)
            moved = flat[name] * factor
            flat[name] = min(param.high, max(param.low, round(moved) if isinstance(param, Int) else moved))
        return view.space.nested(flat)
