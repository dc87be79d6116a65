"""Population-Based Bandits (PB2): copy the best, and let a time-varying GP bandit choose the hparams.

One decision: rank, copy and give everyone a role (`_copying`, `_roles`), gather the evidence (`_evidence`), fit the GP
and its block length, ask whether what was known still holds, let some agents scout the whole space (`_scouts`), then
choose for one agent after another within its region (`_region`); each choice knows of the agents that keep their
hparams and of those chosen before.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from popbandits._errors import OptionError
from popbandits._random import generator, quasi_random
from popbandits._types import Floats
from popbandits.bandit import Box, Request, UpperConfidenceBound, choose_batch, paper_beta, theorem_beta
from popbandits.gp import Kernel, Posterior, Theta, block_length, fit, one_blas_thread, surprise
from popbandits.population import Decision, History, Stop, Train, View
from popbandits.space import Space
from popbandits.strategies._beliefs import Beliefs, Expected, beliefs, edge_over_chance
from popbandits.strategies._copying import keep, next_age, next_interval, spent, start_at_random
from popbandits.strategies._evidence import Evidence, evidence_of, in_training
from popbandits.strategies._notes import PB2Notes
from popbandits.strategies._options import check_number, options
from popbandits.strategies._region import region
from popbandits.strategies._roles import Explore, Roles, assign
from popbandits.strategies._scouts import scouted_point

_INCUMBENTS = 8  # donors whose hparams join a sweep of the whole cube
_SURPRISED = 1.0  # nats by which the newest interval must be more likely without the past for the past to be given up


@options
@dataclass(frozen=True)
class PB2:
    """Replace the worst agents by copies of the best, with hparams chosen by a Gaussian-process bandit.

    Args:
        quantile: the share of agents replaced after each interval, and the share they copy from.
        explore: who gets new hparams: "copied" agents; "middle", also the worse half of those between the worst and
            the best, which scout the whole space and keep their weights unless they are far behind, and all but the
            best when what was learned suddenly fails; or "all".
        beta: how bold: a number, "paper" (0.2 + max(0, log 0.4 t)) or "theorem" (with the regret guarantee).
        omega: how fast the past is forgotten, from 0 (never) to 1 (at once); None to learn it.
        window: the newest rows the model looks at; bounds the cost of a decision.
        lineage_noise: model the noise of scores, shared along the lineage, instead of independent noise.
        fading_gains: learn the level of gains and how fast it falls with training, instead of taking their mean for it.
        common_effect: model an effect that all agents share in an interval.
        trust_region: search around hparams that work, the donor's or the agent's own, instead of everywhere.

    Raises:
        OptionError: for an option that does not exist or cannot have its value.

    Examples:
        >>> PB2(quantile=0.5).quantile
        0.5
    """

    quantile: float = 0.25
    explore: Explore = "middle"
    beta: Literal["paper", "theorem"] | float = 9.0
    omega: float | None = None
    window: int = 1000
    lineage_noise: bool = True
    fading_gains: bool = True
    common_effect: bool = False
    trust_region: bool = True

    def __post_init__(self) -> None:
        check_number(self, "quantile", 0.0, 0.5)
        check_number(self, "window", 1, np.inf, whole=True)
        if self.explore not in ("copied", "middle", "all"):
            raise OptionError(f"explore must be 'copied', 'middle' or 'all', but got {self.explore!r}")
        if self.beta not in ("paper", "theorem"):
            if isinstance(self.beta, str):
                raise OptionError(f"beta must be 'paper', 'theorem' or a number, but got {self.beta!r}")
            check_number(self, "beta", 0.0, np.inf)
        if self.omega is not None:
            check_number(self, "omega", 0.0, 1.0)

    @classmethod
    def paper(cls, **given: Any) -> "PB2":
        """Return the paper's own method: independent noise, gains around their mean, the whole cube.

        New hparams for copied agents, as its figure 1 has it; `explore="all"` is its algorithm 1 read literally.
        """
        own: dict[str, Any] = {
            "explore": "copied",
            "beta": "paper",
            "lineage_noise": False,
            "fading_gains": False,
            "trust_region": False,
        }
        return cls(**own | given)

    def start(self, view: View) -> Decision:
        return start_at_random(view)

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        live = tuple(agent for agent in due if not spent(view, agent))
        if not live:
            return Decision(tuple(Stop(agent) for agent in due), view.notes)
        roles = assign(view, live, self.quantile, self.explore)
        notes = PB2Notes.from_json(view.notes)
        points = np.zeros((len(roles.movers), view.space.dim))
        if roles.movers and view.space.dim:
            roles, points, notes = self._choose(view, roles)
        actions = {agent: keep(view, agent) for agent in roles.keepers}
        for agent, point in zip(roles.movers, points, strict=True):
            actions[agent] = Train(agent, view.space.decode(point), roles.sources[agent])
        kept = {} if notes is None else notes.to_json()
        return Decision(tuple(actions.get(agent, Stop(agent)) for agent in due), kept)

    def beliefs(self, notes: Mapping[str, Any], space: Space, size: int) -> Beliefs | None:
        """Return what the notes of a decision say of the model, in words and numbers for people."""
        known = PB2Notes.from_json(notes)
        return None if known is None else beliefs(known, space, size)

    def expected(self, history: History, notes: Mapping[str, Any], size: int) -> Expected | None:
        """Return what a decision expected of points of the cube; None when it had no model.

        Args:
            history: the reports that there were, as the core has them: higher is better.
            notes: of the decision.
            size: agents.
        """
        known, posterior = PB2Notes.from_json(notes), self.model(history, notes, size)
        if known is None or posterior is None:
            return None
        unit, model = known.unit, posterior

        def gain(points: Floats, t: float) -> tuple[Floats, Floats]:
            mean, deviation = model.mean_and_deviation(points, t)
            return unit * mean, unit * deviation

        return gain

    def model(self, history: History, notes: Mapping[str, Any], size: int) -> Posterior | None:
        """Return the belief that a decision was made with, in units of its own; the arguments are `expected`'s."""
        known, kernel = PB2Notes.from_json(notes), self._kernel(history.space)
        if known is None or len(known.theta.lengthscales) != kernel.n_numeric:
            return None
        view = View(history.space, size, 1, 0, history, (), {}, {})
        return _posterior(kernel, known.theta, self._evidence(view), known.block)

    def _kernel(self, space: Space) -> Kernel:
        return Kernel(
            tuple(space.is_choice.tolist()),
            common=self.common_effect,
            lineage=self.lineage_noise,
            omega=self.omega,
            fading=self.fading_gains,
        )

    @one_blas_thread()
    def _choose(self, view: View, roles: Roles) -> tuple[Roles, Floats, PB2Notes | None]:
        """Return the roles in the light of the model, a point for each mover (m x dim), and what was learned."""
        roles, posterior, learned = self._learn(view, roles)
        theta = learned.theta
        if posterior is None:
            drawn = [
                quasi_random(1, view.space.dim, generator(view.seed, "fallback", next_interval(view, agent), agent))[0]
                for agent in roles.movers
            ]
            return roles, np.array(drawn), replace(learned, fallbacks=learned.fallbacks + len(drawn))
        known = posterior
        posterior = posterior.while_training(in_training(view, roles.keepers))
        begun = {agent: -1 if source is None else view.last[source] for agent, source in roles.sources.items()}
        scouted = []
        for agent in roles.scouts:
            t = next_age(view, roles.sources[agent])
            scouted.append(scouted_point(view, agent, float(t), posterior))
            row = posterior.rows.another(scouted[-1], float(t), begun[agent])
            posterior = posterior.while_training(row)
        if not roles.explorers:
            return roles, np.array(scouted), learned
        requests = [
            Request(
                self._box(view, theta, agent, roles.sources),
                begun[agent],
                UpperConfidenceBound(self._beta(next_age(view, roles.sources[agent]), view.space.dim)),
                generator(view.seed, "sweep", next_interval(view, agent) - 1, agent),
            )
            for agent in roles.explorers
        ]
        chosen = choose_batch(posterior, requests, view.space.snap)
        edge = edge_over_chance(known, chosen, requests[0].box.t, view.space, view.seed)
        recent = edge if learned.edge is None else learned.edge
        learned = replace(learned, edge=0.5 * (edge + recent))  # one choice alone says little
        numeric = ~view.space.is_choice
        if numeric.any():
            sides = [(request.box.upper - request.box.lower)[numeric] for request in requests]
            learned = replace(learned, region=float(np.mean(sides)))
        return roles, np.array([*chosen, *scouted]), learned

    def _learn(self, view: View, roles: Roles) -> tuple[Roles, Posterior | None, PB2Notes]:
        """Return the roles after what was learned, the belief if there can be one, and the notes."""
        kernel = self._kernel(view.space)
        evidence = self._evidence(view)
        last = PB2Notes.from_json(view.notes)
        before = None if last is None else last.theta
        theta = fit(kernel, evidence.rows, evidence.y, start=before)
        block = block_length(kernel, theta, evidence.rows, evidence.y) if len(evidence.rows) else 0
        surprises = 0 if last is None else last.surprises
        if self._is_surprised(kernel, before, evidence):
            block = int((evidence.rows.t == evidence.rows.t[0]).sum())
            roles, surprises = roles.surprised(), surprises + 1
        learned = PB2Notes(
            theta,
            unit=evidence.unit if evidence.y.any() else 0.0,
            rows=len(evidence.rows),
            block=block,
            lineage=self.lineage_noise,
            t=max(next_age(view, roles.sources[agent]) for agent in roles.movers),
            surprises=surprises,
            fallbacks=0 if last is None else last.fallbacks,
            edge=None if last is None else last.edge,
            region=None if last is None else last.region,
        )
        return roles, _posterior(kernel, theta, evidence, block), learned

    def _is_surprised(self, kernel: Kernel, before: Theta | None, evidence: Evidence) -> bool:
        """Return whether the model, as it was before the newest interval, explains that better without the past."""
        if self.explore != "middle" or before is None:
            return False
        return surprise(kernel, before, evidence.rows, evidence.y) > _SURPRISED

    def _evidence(self, view: View) -> Evidence:
        return evidence_of(view, self.window, centred=not self.fading_gains)

    def _box(self, view: View, theta: Theta, agent: int, sources: Mapping[int, int | None]) -> Box:
        """Return where an agent may look: around the hparams of its weights, or everywhere, from the donors' on."""
        source = sources[agent]
        t = float(next_age(view, source))
        if self.trust_region and source is not None:
            donated = view.history.points[[view.last[source]]]
            numeric = (~view.space.is_choice).tolist()
            lower, upper = region(donated[0], theta.lengthscales, theta.omega, numeric)
            below, above = view.space.neighbours(donated[0])  # a box within which an Int cannot change would freeze it
            return Box(t, np.minimum(lower, below), np.maximum(upper, above), donated)
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
    if block < len(evidence.y) and not kernel.fading:
        y = y - y.mean()  # what was forgotten must not set the level
    return Posterior.given(kernel, theta, evidence.rows[:block], y)
