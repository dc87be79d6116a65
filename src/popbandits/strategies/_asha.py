"""ASHA: asynchronous successive halving. Many short trials, of which few live on."""

from dataclasses import dataclass

import numpy as np

from popbandits.population import Action, Decision, Stop, Train, View
from popbandits.strategies._copying import keep, next_interval, random_hparams, start_at_random
from popbandits.strategies._options import check_number, options


@options
@dataclass(frozen=True)
class ASHA:
    """Stop a trial at a rung unless it is among the best there, and start a new one in its place.

    Rungs are at grace, grace x reduction, grace x reduction², … intervals. A trial trains at most `intervals`
    intervals; all trials together at most size x intervals.

    Args:
        grace: the intervals a trial trains before it is first judged.
        reduction: one in this many goes on from a rung.
        starts: how many trials to start in all; None for as many as the budget allows. The paper starts 18 against a
            population of 4, and 48 against 8.

    Raises:
        OptionError: for an option that does not exist or cannot have its value.
    """

    grace: int = 1
    reduction: int = 4
    starts: int | None = None

    def __post_init__(self) -> None:
        check_number(self, "grace", 1, np.inf, whole=True)
        check_number(self, "reduction", 2, np.inf, whole=True)
        if self.starts is not None:
            check_number(self, "starts", 1, np.inf, whole=True)

    def start(self, view: View) -> Decision:
        first = start_at_random(view)
        return first if self.starts is None else Decision(first.actions[: self.starts])

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        left = view.size * view.intervals - len(view.history) - len(view.training)
        begun = int((view.history.donor < 0).sum()) + sum(job.source is None for job in view.training.values())
        most = self.starts if self.starts is not None else view.size * view.intervals
        survivors = [agent for agent in due if self._survives(view, agent)]
        actions: dict[int, Action] = {}
        for agent in (*survivors, *(agent for agent in due if agent not in survivors)):
            fresh = agent not in survivors
            if left <= 0 or (fresh and begun >= most):
                actions[agent] = Stop(agent)
                continue
            left -= 1
            begun += fresh
            hparams = random_hparams(view, agent, next_interval(view, agent) - 1)
            actions[agent] = Train(agent, hparams) if fresh else keep(view, agent)
        return Decision(tuple(actions[agent] for agent in due))

    def _survives(self, view: View, agent: int) -> bool:
        row, score = view.last[agent], view.history.score
        age = int(view.history.age[row])
        if not np.isfinite(score[row]) or age >= view.intervals:
            return False
        rung = self.grace
        while rung < age:
            rung *= self.reduction
        if rung != age:
            return True
        rivals = score[view.history.age == rung]
        better = int((rivals[np.isfinite(rivals)] > score[row]).sum())
        return better < max(1, len(rivals) // self.reduction)
