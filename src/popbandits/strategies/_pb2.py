"""Population-Based Bandits (PB2): the worst agents copy the best, and a GP bandit helps to choose their hparams.

One decision: ask who copies whom (`_succession`); gather the scores of all intervals and what they began with
(`_levels`), fit the GP to them; then choose for one agent after another among random neighbours of its donor's hparams.
The GP takes the one with the highest upper confidence bound, among the more neighbours the more it has seen: with few
reports it hardly interferes, with many it decides. Each choice knows of the agents that keep their hparams and of those
chosen before.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from popbandits._random import generator
from popbandits._types import Floats
from popbandits.bandit import UpperConfidenceBound
from popbandits.gp import Kernel, Posterior, Rows, fit, one_blas_thread
from popbandits.population import Decision, Stop, Train, View
from popbandits.space import Space
from popbandits.strategies._beliefs import HasModel, edge_over_chance
from popbandits.strategies._copying import keep, neighbours, next_age, next_interval, spent
from popbandits.strategies._explained import Explanation, explain
from popbandits.strategies._gains import Evidence, gains_of, in_training
from popbandits.strategies._levels import levels_of
from popbandits.strategies._notes import PB2Notes
from popbandits.strategies._options import check_number, options
from popbandits.strategies._paper import PaperPB2
from popbandits.strategies._start import start_spread
from popbandits.strategies._succession import Move, Rules, Succession, succession

_BETA = 0.25  # of the upper confidence bound: half a deviation
_REPORTS = 4  # for each hyperparameter and neighbour that the model may choose among
_MOST = 64  # neighbours


@options
@dataclass(frozen=True)
class PB2(HasModel):
    """Replace the worst agents by copies of the best when that is no luck, with hparams near the best's.

    Args:
        quantile: the share of agents that may be replaced after each interval, at least one agent.
        patience: intervals that an agent has after a change before it may be replaced.
        spread: how far new hparams lie from those they start from at first, as a deviation in parts of each range; it
            falls to half of that by the end of the run.
        window: the newest reports the model looks at; bounds the cost of a decision. With 0 there is no model, and
            neighbours are drawn at random.

    Raises:
        OptionError: for an option that does not exist or cannot have its value.

    Examples:
        >>> PB2(patience=3).patience
        3
    """

    quantile: float = 0.25
    patience: int = 2
    spread: float = 0.2
    window: int = 1000
    rules: ClassVar[Rules] = Rules()

    def __post_init__(self) -> None:
        check_number(self, "quantile", 0.0, 0.5)
        check_number(self, "patience", 1, np.inf, whole=True)
        check_number(self, "spread", 0.0, 1.0)
        check_number(self, "window", 0, np.inf, whole=True)

    @classmethod
    def paper(cls, **given: Any) -> PaperPB2:
        """Return the paper's own method, with the options of `PaperPB2`."""
        return PaperPB2(**given)

    def start(self, view: View) -> Decision:
        return start_spread(view)

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        live = tuple(agent for agent in due if not spent(view, agent))
        if not live:
            return Decision(tuple(Stop(agent) for agent in due), view.notes)
        plan = self.plan(view, live)
        notes = PB2Notes.from_json(view.notes)
        points: list[Floats] = [np.zeros(0)] * len(plan.moves)
        if plan.moves and view.space.dim:
            points, notes = self._choose(view, live, plan, notes)
        actions = {agent: keep(view, agent) for agent in live if agent not in plan.movers}
        for move, point in zip(plan.moves, points, strict=True):
            # The leader's hparams as they are: their point need not lead back to them to the last digit.
            given = view.space.decode(point) if move.like is None else view.history.hparams(view.last[move.like])
            actions[move.agent] = Train(move.agent, given, move.source)
        kept = {} if notes is None else notes.to_json()
        return Decision(tuple(actions.get(agent, Stop(agent)) for agent in due), kept)

    def explain(self, view: View) -> Explanation | None:
        """Return where the agents stand and what hparams have done, for people; None before the first interval."""
        return explain(view, self.patience)

    def believed(self, view: View, known: PB2Notes) -> Posterior | None:
        kernel, evidence = self._kernel(view.space), self._evidence(view, ending=False)
        return Posterior.given(kernel, known.theta, evidence.rows, evidence.y)

    @one_blas_thread()
    def _choose(
        self, view: View, live: tuple[int, ...], plan: Succession, last: PB2Notes | None
    ) -> tuple[list[Floats], PB2Notes | None]:
        """Return a point for each move, and what was learned."""
        posterior, notes = self._learned(view, plan, last)
        if posterior is None:
            drawn = [self.candidates(view, move, 1)[0] for move in plan.moves]
            lost = 0 if notes is None else sum(not move.anew for move in plan.moves)
            return drawn, notes and replace(notes, fallbacks=notes.fallbacks + lost)
        known = posterior
        posterior = posterior.while_training(in_training(view, [a for a in live if a not in plan.movers]))
        points: list[Floats] = []
        chosen: list[Floats] = []
        for move in plan.moves:
            t = float(next_age(view, move.source))
            count = 1 if move.anew else min(_MOST, 1 + len(known.rows) // (_REPORTS * view.space.dim))
            near = self.candidates(view, move, count)
            best = int(np.argmax(UpperConfidenceBound(_BETA)(*posterior.mean_and_deviation(near, t))))
            points.append(near[best])
            chosen += [] if move.anew else [near[best]]
            posterior = posterior.while_training(Rows.plain(near[best : best + 1], np.array([t])))
        if chosen and notes is not None:
            notes = notes.with_edge(edge_over_chance(known, np.array(chosen), float(notes.t), view.space, view.seed))
        return points, notes

    def _learned(self, view: View, plan: Succession, last: PB2Notes | None) -> tuple[Posterior | None, PB2Notes | None]:
        """Return the belief, if there can be one, and the notes; the last ones when nobody asks for a belief."""
        if self.window == 0 or all(move.anew for move in plan.moves):
            return None, last
        kernel, evidence = self._kernel(view.space), self._evidence(view, ending=plan.ending)
        theta = fit(kernel, evidence.rows, evidence.y, start=None if last is None else last.theta)
        notes = PB2Notes(
            theta,
            unit=evidence.unit if evidence.y.any() else 0.0,
            rows=len(evidence.rows),
            block=len(evidence.rows),
            t=max(next_age(view, move.source) for move in plan.moves),
            gains=not self.rules.scores,
            fallbacks=0 if last is None else last.fallbacks,
            edge=None if last is None else last.edge,
        )
        return Posterior.given(kernel, theta, evidence.rows, evidence.y), notes

    def plan(self, view: View, live: tuple[int, ...]) -> Succession:
        """Return who copies whom, and who goes on as before. A subclass may decide otherwise."""
        return succession(view, live, self.quantile, self.patience, self.rules)

    def candidates(self, view: View, move: Move, count: int) -> Floats:
        """Return points that an agent may try, at most count x dim: near those of its source, anywhere, or another's.

        The model chooses among them. A subclass may draw others.
        """
        if move.like is not None:
            return np.array([view.history.points[view.last[move.like]]])
        done = next_interval(view, move.agent) - 1
        rng = generator(view.seed, "anew" if move.anew else "neighbours", done, move.agent)
        if move.anew or move.source is None:
            return np.array([view.space.encode(view.space.sample(rng)) for _ in range(count)])
        spread = self.spread * (1.0 - 0.5 * done / view.intervals)
        return neighbours(view.space, view.history.points[view.last[move.source]], spread, rng, count)

    def _kernel(self, space: Space) -> Kernel:
        return Kernel(tuple(space.is_choice.tolist()), carried=self.rules.scores)

    def _evidence(self, view: View, *, ending: bool) -> Evidence:
        return levels_of(view, self.window, ending=ending) if self.rules.scores else gains_of(view, self.window)
