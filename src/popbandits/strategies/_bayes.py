"""Bayesian optimisation as the paper's section 5 has it: one trial after another, then the best goes on."""

from dataclasses import dataclass

import numpy as np

from popbandits._random import generator
from popbandits._types import Floats
from popbandits.bandit import Box, ExpectedImprovement, maximise, sweep_box
from popbandits.gp import Kernel, Posterior, Rows, fit, one_blas_thread, standardise
from popbandits.population import Decision, Stop, Train, View
from popbandits.strategies._copying import keep, random_hparams
from popbandits.strategies._options import options

_RANDOM_TRIALS = 2  # before a model has anything to say
_MOST_ROWS = 256


@options
@dataclass(frozen=True)
class BayesOpt:
    """Train trials one after another for half of `intervals` each, hparams by Expected Improvement; continue the best.

    One agent trains at a time. There are as many trials as the budget size x intervals has room for: 2 size - 1 when
    intervals is even.
    """

    def start(self, view: View) -> Decision:
        return Decision((Train(0, random_hparams(view, 0, 0)),))

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        if view.training:
            return Decision((), view.notes)  # a run was made longer, and another agent has begun already
        agent = max(due, key=lambda one: view.last[one])
        history = view.history
        half = max(1, view.intervals // 2)
        row = view.last[agent]
        age = int(history.age[row])
        left = view.size * view.intervals - len(history)
        spare = left - (view.intervals - half)  # what the best trial does not need to go on to the end
        has_more = left > 0 and age < view.intervals if age > half else spare > 0 and age < half
        if has_more and np.isfinite(history.score[row]):
            return Decision((keep(view, agent),))
        if spare > 0:
            slot = self._free_slot(view)
            interval = 0 if view.last[slot] < 0 else int(history.interval[view.last[slot]])
            return Decision((Train(slot, self._next_hparams(view, half, slot, interval)),))
        best = self._best_slot(view)
        if left > 0 and best is not None and history.age[view.last[best]] < view.intervals:
            return Decision((keep(view, best),))
        return Decision((Stop(agent),))

    def _free_slot(self, view: View) -> int:
        """Return an agent that has not trained yet, or the one whose trial did worst: its weights are not needed."""
        unused = [agent for agent in range(view.size) if view.last[agent] < 0]
        if unused:
            return unused[0]
        scores = np.nan_to_num(view.history.score[list(view.last)], nan=-np.inf, posinf=-np.inf)
        return int(np.argmin(scores))

    def _best_slot(self, view: View) -> int | None:
        rows = [row for row in view.last if row >= 0]
        scores = np.where(np.isfinite(view.history.score[rows]), view.history.score[rows], -np.inf)
        best = rows[int(np.argmax(scores))]
        return int(view.history.agent[best]) if np.isfinite(scores.max()) else None

    @one_blas_thread()
    def _next_hparams(self, view: View, half: int, slot: int, interval: int) -> dict[str, object]:
        points, results = self._results(view, half)
        if len(results) < _RANDOM_TRIALS:
            return dict(random_hparams(view, slot, interval))
        y, _ = standardise(results)
        n = len(y)
        rows = Rows.plain(points, np.ones(n))
        kernel = Kernel(tuple(view.space.is_choice.tolist()), omega=0.0)
        posterior = Posterior.given(kernel, fit(kernel, rows, y), rows, y)
        if posterior is None:
            return dict(random_hparams(view, slot, interval))
        dim, snap = view.space.dim, view.space.snap
        everywhere = Box(1.0, np.zeros(dim), np.ones(dim), points[np.argsort(-y)[:4]])
        sweep = sweep_box(posterior, everywhere, snap, generator(view.seed, "bayes", interval, slot))
        acquisition = ExpectedImprovement(float(y.max()))
        return view.space.decode(maximise(posterior, acquisition, everywhere, sweep, snap))

    def _results(self, view: View, half: int) -> tuple[Floats, Floats]:
        """Return the hparams (n x D) and scores (n) of the trials that were trained for their half."""
        rows = np.flatnonzero((view.history.age == half) & np.isfinite(view.history.score))[-_MOST_ROWS:]
        return view.history.points[rows], view.history.score[rows]
