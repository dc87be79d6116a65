"""The paper's own PB2: the gain of an interval is learned by a time-varying GP, and new hparams may lie anywhere.

One decision: rank and copy (`_copying`), gather what intervals gained (`_gains`), fit the GP and its block length, then
choose for one agent after another by an upper confidence bound; each choice knows of the agents that keep their hparams
and of those chosen before.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from popbandits._errors import OptionError
from popbandits._random import generator, quasi_random
from popbandits._types import Floats
from popbandits.bandit import Box, Request, UpperConfidenceBound, choose_batch, paper_beta, theorem_beta
from popbandits.gp import Kernel, Posterior, Theta, block_length, fit, one_blas_thread
from popbandits.population import Decision, Stop, Train, View
from popbandits.space import Space
from popbandits.strategies._beliefs import HasModel, edge_over_chance
from popbandits.strategies._copying import copy_step, keep, next_age, next_interval, spent, start_at_random
from popbandits.strategies._gains import Evidence, gains_of, in_training
from popbandits.strategies._notes import PB2Notes
from popbandits.strategies._options import check_number, options

_INCUMBENTS = 8  # donors whose hparams join a sweep of the whole cube


@options
@dataclass(frozen=True)
class PaperPB2(HasModel):
    """Replace the worst agents by copies of the best, with hparams chosen by the bandit of the PB2 paper.

    `PB2.paper()` makes one. It is there to compare with; `PB2()` is what trains better.

    Args:
        quantile: the share of agents replaced after each interval, and the share they copy from.
        explore: who gets new hparams: "copied" agents, as in the paper's figure 1; or "all", its algorithm 1 read
            literally.
        beta: how bold: a number, "paper" (0.2 + max(0, log 0.4 t)) or "theorem" (with the regret guarantee).
        omega: how fast the past is forgotten, from 0 (never) to 1 (at once); None to learn it.
        window: the newest rows the model looks at; bounds the cost of a decision.

    Raises:
        OptionError: for an option that does not exist or cannot have its value.
    """

    quantile: float = 0.25
    explore: Literal["copied", "all"] = "copied"
    beta: Literal["paper", "theorem"] | float = "paper"
    omega: float | None = None
    window: int = 1000

    def __post_init__(self) -> None:
        check_number(self, "quantile", 0.0, 0.5)
        check_number(self, "window", 1, np.inf, whole=True)
        if self.explore not in ("copied", "all"):
            raise OptionError(f"explore must be 'copied' or 'all', but got {self.explore!r}")
        if self.beta not in ("paper", "theorem"):
            if isinstance(self.beta, str):
                raise OptionError(f"beta must be 'paper', 'theorem' or a number, but got {self.beta!r}")
            check_number(self, "beta", 0.0, np.inf)
        if self.omega is not None:
            check_number(self, "omega", 0.0, 1.0)

    def start(self, view: View) -> Decision:
        return start_at_random(view)

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        live = tuple(agent for agent in due if not spent(view, agent))
        if not live:
            return Decision(tuple(Stop(agent) for agent in due), view.notes)
        sources = copy_step(view, live, self.quantile).sources
        movers = tuple(agent for agent in live if sources[agent] != agent or self.explore == "all" or view.size == 1)
        keepers = tuple(agent for agent in live if agent not in movers)
        notes = PB2Notes.from_json(view.notes)
        points = np.zeros((len(movers), view.space.dim))
        if movers and view.space.dim:
            points, notes = self._choose(view, movers, keepers, sources)
        actions = {agent: keep(view, agent) for agent in keepers}
        for agent, point in zip(movers, points, strict=True):
            actions[agent] = Train(agent, view.space.decode(point), sources[agent])
        kept = {} if notes is None else notes.to_json()
        return Decision(tuple(actions.get(agent, Stop(agent)) for agent in due), kept)

    def believed(self, view: View, known: PB2Notes) -> Posterior | None:
        return _posterior(self._kernel(view.space), known.theta, gains_of(view, self.window), known.block)

    def _kernel(self, space: Space) -> Kernel:
        return Kernel(tuple(space.is_choice.tolist()), omega=self.omega)

    @one_blas_thread()
    def _choose(
        self, view: View, movers: tuple[int, ...], keepers: tuple[int, ...], sources: Mapping[int, int | None]
    ) -> tuple[Floats, PB2Notes]:
        """Return a point for each mover (m x dim), and what was learned."""
        posterior, learned = self._learn(view, movers, sources)
        if posterior is None:
            drawn = [
                quasi_random(1, view.space.dim, generator(view.seed, "fallback", next_interval(view, agent), agent))[0]
                for agent in movers
            ]
            return np.array(drawn), replace(learned, fallbacks=learned.fallbacks + len(drawn))
        requests = [
            Request(
                self._box(view, agent, sources),
                UpperConfidenceBound(self._beta(next_age(view, sources[agent]), view.space.dim)),
                generator(view.seed, "sweep", next_interval(view, agent) - 1, agent),
            )
            for agent in movers
        ]
        chosen = choose_batch(posterior.while_training(in_training(view, keepers)), requests, view.space.snap)
        edge = edge_over_chance(posterior, chosen, requests[0].box.t, view.space, view.seed)
        return chosen, learned.with_edge(edge)

    def _learn(
        self, view: View, movers: tuple[int, ...], sources: Mapping[int, int | None]
    ) -> tuple[Posterior | None, PB2Notes]:
        """Return the belief, if there can be one, and the notes."""
        kernel, evidence = self._kernel(view.space), gains_of(view, self.window)
        last = PB2Notes.from_json(view.notes)
        theta = fit(kernel, evidence.rows, evidence.y, start=None if last is None else last.theta)
        block = block_length(kernel, theta, evidence.rows, evidence.y) if len(evidence.rows) else 0
        learned = PB2Notes(
            theta,
            unit=evidence.unit if evidence.y.any() else 0.0,
            rows=len(evidence.rows),
            block=block,
            t=max(next_age(view, sources[agent]) for agent in movers),
            fallbacks=0 if last is None else last.fallbacks,
            edge=None if last is None else last.edge,
        )
        return _posterior(kernel, theta, evidence, block), learned

    def _box(self, view: View, agent: int, sources: Mapping[int, int | None]) -> Box:
        """Return where an agent may look: everywhere, from the donors' hparams on."""
        t = float(next_age(view, sources[agent]))
        donors = {source for agent, source in sources.items() if source is not None and source != agent}
        ranked = sorted(donors, key=lambda donor: (-view.history.score[view.last[donor]], donor))[:_INCUMBENTS]
        donated = view.history.points[[view.last[donor] for donor in ranked]]
        return Box(t, np.zeros(view.space.dim), np.ones(view.space.dim), donated.reshape(-1, view.space.dim))

    def _beta(self, t: int, dim: int) -> float:
        if self.beta == "paper":
            return paper_beta(t)
        return theorem_beta(t, dim) if self.beta == "theorem" else float(self.beta)


def _posterior(kernel: Kernel, theta: Theta, evidence: Evidence, block: int) -> Posterior | None:
    y = evidence.y[:block]
    if block < len(evidence.y):
        y = y - y.mean()  # what was forgotten must not set the level
    return Posterior.given(kernel, theta, evidence.rows[:block], y)
