"""PB2 that begins with a search from fresh weights: a lead that the study follows, not a part of the product.

Hparams are hard to compare on trained weights, because a change acts at once and again later. On fresh weights they are
easy to compare: all begin at the same place, and whoever learns fastest has the highest first score. So for the first
part of the run one agent, the best, trains on. The others begin anew in every interval, with hparams that a Gaussian
process of first scores picks. The best hparams found so far go to the agent that trains on, and when the search ends
everybody copies its weights. From then on it is PB2.

    n fresh starts so far, each with a point x of the cube and its first score
"""

from dataclasses import dataclass

import numpy as np

import popbandits as pb
from popbandits._types import Floats, Ints
from popbandits.gp import Kernel, Posterior, Rows, fit
from popbandits.population import Decision, Train, View
from popbandits.strategies import finite_scores, generator, keep, learned, next_interval, spent

_ANYWHERE, _NEAR, _SPREAD = 128, (64, 32), 0.2  # points that the model chooses among: anywhere, near the best two


@dataclass(frozen=True)
class FreshStarts(pb.PB2):
    """Search from fresh weights first, then PB2.

    Args:
        part: of the run that the search takes.
        at_once: whether it begins after the first interval; else when somebody has learned something.
    """

    part: float = 0.5
    at_once: bool = False

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        """Return what the agents do next: in step only, as on the bench."""
        live = [agent for agent in due if not spent(view, agent)]
        latest = finite_scores(view)
        done = next_interval(view, live[0]) - 1 if live else view.intervals
        end = round(self.part * view.intervals)
        if done > end or len(latest) < view.size or len(live) < view.size:  # it is over, or a score was not finite
            return super().decide(view, due)
        history = view.history
        searching = done > 1 and any(history.before[view.last[agent]] < 0 for agent in live)
        now = list(view.last)
        # The rule that PB2 has for donors: somebody has clearly passed every first report.
        passed = learned(view, history.score[now], np.nan_to_num(history.score_error[now])).any()
        if not (searching or passed or (self.at_once and done == 1)):
            return super().decide(view, due)
        fresh = np.flatnonzero((history.before < 0) & np.isfinite(history.score))
        order = fresh[np.argsort(-history.score[fresh], kind="stable")].tolist()
        best = max(live, key=lambda agent: (latest[agent], -agent))
        others = [agent for agent in live if agent != best]
        actions = {best: Train(best, history.hparams(order[0]), best)}
        if done == end:
            for agent, row in zip(others, order[1:], strict=False):
                actions[agent] = Train(agent, history.hparams(row), best)
        else:
            for agent, point in zip(others, self._points(view, fresh, order, others, done), strict=True):
                actions[agent] = Train(agent, view.space.decode(point), None)
        return Decision(tuple(actions.get(agent, keep(view, agent)) for agent in due))

    def _points(self, view: View, fresh: Ints, order: list[int], agents: list[int], done: int) -> list[Floats]:
        """Return a point for each agent: the highest upper confidence bound of the rank of a first score."""
        from scipy.special import ndtri

        history, space, n = view.history, view.space, len(fresh)
        ranks = np.argsort(np.argsort(history.score[fresh], kind="stable"), kind="stable")
        y = ndtri((ranks + 0.5) / n)  # first scores of good and bad hparams lie far apart: only their order counts
        kernel, rows = Kernel(tuple(space.is_choice.tolist()), omega=0.0), Rows.plain(history.points[fresh], np.ones(n))
        model = Posterior.given(kernel, fit(kernel, rows, y), rows, y)
        if model is None:  # a covariance that cannot be used: the best as it is
            return [history.points[order[0]]] * len(agents)
        found = []
        for agent in agents:
            rng = generator(view.seed, "fresh starts", done, agent)
            drawn = [space.encode(space.sample(rng)) for _ in range(_ANYWHERE)]
            for row, count in zip(order, _NEAR, strict=False):
                moved = history.points[row] + _SPREAD * rng.standard_normal((count, space.dim))
                drawn += list(np.clip(moved, 0.0, 1.0))
            points = space.snap(np.array(drawn))
            mean, deviation = model.mean_and_deviation(points, 1.0)
            chosen = points[int(np.argmax(mean + deviation))]
            found.append(chosen)
            model = model.while_training(Rows.plain(chosen[None], np.ones(1)))
        return found
