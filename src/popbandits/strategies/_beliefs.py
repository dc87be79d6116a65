"""What PB2's model has learned, in words and numbers that people can use."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from popbandits._errors import RunError
from popbandits._random import generator, quasi_random
from popbandits._types import Floats
from popbandits.gp import Posterior
from popbandits.population import History, View
from popbandits.space import Space
from popbandits.strategies._notes import PB2Notes

_SOON = 3  # intervals before which little can be known
_CHANCE = 0.6  # an edge below which a choice is hardly one
_DRAWS = 128


Expected: TypeAlias = Callable[[Floats, float], tuple[Floats, Floats]]
"""From points of the cube (m x D) and an interval to what is expected of them and its deviation, m each, in scores."""


@dataclass(frozen=True)
class Beliefs:
    """The model at one decision.

    Args:
        omega: how fast the past is forgotten: 0 never, 1 at once.
        lengthscales: for each numeric hyperparameter, how far it must move, in parts of its range, to matter.
        signal: the deviation, in scores, of what an interval reaches that hparams explain.
        noise: the deviation, in scores, of the error of a score.
        edge: the probability, as the model sees it, that a choice is better than a random one, over recent choices; 0.5
            is chance, None is no choice yet.
        rows, block: reports that the model was fitted to, and the newest of them that it then believed.
        fallbacks: how often a point had to be drawn because the model could not be used.
        warnings: what to know about it, one sentence each.
    """

    omega: float
    lengthscales: dict[str, float]
    signal: float
    noise: float
    edge: float | None
    rows: int
    block: int
    fallbacks: int
    warnings: tuple[str, ...]


def beliefs(notes: PB2Notes, space: Space, size: int) -> Beliefs:
    """Return what PB2 noted at a decision, in the units of the user's scores, and what to know about it.

    Args:
        notes: of the decision.
        space: of the run.
        size: agents.
    """
    theta, unit = notes.theta, notes.unit
    numeric = [name for name, choice in zip(space.names, space.is_choice.tolist(), strict=True) if not choice]
    signal, noise = unit * math.sqrt(theta.signal), unit * math.sqrt(theta.noise)
    if notes.gains:
        noise /= math.sqrt(2.0)  # a gain has the errors of two scores
    edge, rows, fallbacks = notes.edge, notes.rows, notes.fallbacks
    lasting = signal * math.sqrt(1 - theta.omega)  # what is still true in the next interval
    warnings = []
    if rows >= _SOON * size:
        if not unit:
            warnings.append("no report differs from another yet: there is nothing to learn from")
        elif noise > lasting:
            warnings.append(
                f"intervals may be too short: a score errs by ±{noise:.3g}, and of what hparams change in an "
                f"interval ±{lasting:.3g} still holds in the next; longer intervals, or scores averaged over more, "
                "would help"
            )
        if edge is not None and edge < _CHANCE:
            warnings.append(
                f"choices are little better than chance: they beat a random one with probability {edge:.2f}"
            )
    if fallbacks:
        warnings.append(f"the model could not be used {fallbacks} times, and hparams were drawn at random instead")
    return Beliefs(
        theta.omega,
        dict(zip(numeric, theta.lengthscales, strict=True)),
        signal,
        noise,
        edge,
        rows,
        notes.block,
        fallbacks,
        tuple(warnings),
    )


class HasModel(ABC):
    """What `status` and the figures ask a strategy with a model, given what that model believed."""

    @abstractmethod
    def believed(self, view: View, known: PB2Notes) -> Posterior | None:
        """Return the belief behind a decision, rebuilt from its notes and the reports that there were."""

    def beliefs(self, notes: Mapping[str, Any], space: Space, size: int) -> Beliefs | None:
        """Return what the notes of a decision say of the model, in words and numbers for people."""
        known = _fitting(notes, space)
        return None if known is None else beliefs(known, space, size)

    def expected(self, history: History, notes: Mapping[str, Any], size: int) -> Expected | None:
        """Return what a decision expected of points of the cube, in scores; None when it had no model.

        Args:
            history: the reports that there were, as the core has them: higher is better.
            notes: of the decision.
            size: agents.
        """
        known = _fitting(notes, history.space)
        if known is None:
            return None
        model, unit = self.believed(View(history.space, size, 1, 0, history, (), {}, {}), known), known.unit
        if model is None:
            return None

        def in_scores(points: Floats, t: float) -> tuple[Floats, Floats]:
            mean, deviation = model.mean_and_deviation(points, t)
            return unit * mean, unit * deviation

        return in_scores


def _fitting(notes: Mapping[str, Any], space: Space) -> PB2Notes | None:
    """Return what the notes of a decision hold; None when no model was fitted for it.

    Raises:
        RunError: when they are not of a model of this space.
    """
    known, numeric = PB2Notes.from_json(notes), int((~space.is_choice).sum())
    if known is not None and len(known.theta.lengthscales) != numeric:
        raise RunError(
            f"what PB2 noted at a decision is damaged: it has {len(known.theta.lengthscales)} lengthscales, but the "
            f"space has {numeric} numeric hyperparameters"
        )
    return known


def edge_over_chance(posterior: Posterior, chosen: Floats, t: float, space: Space, seed: int) -> float:
    """Return the mean probability, as the model sees it, that chosen points are better than random other ones.

    Args:
        posterior: the belief.
        chosen: points of the cube, m x D.
        t: the interval to come.
        space: moves points to where Int and Choice have values.
        seed: of the run.
    """
    from scipy.special import ndtr

    drawn = space.snap(quasi_random(_DRAWS, space.dim, generator(seed, "edge", int(t))))
    points, m = np.concatenate([chosen, drawn]), len(chosen)
    mean, covariance = posterior.mean(points, t), posterior.covariance(points, t)
    variance = np.diagonal(covariance)
    gap = mean[:m, None] - mean[None, m:]
    spread = np.sqrt(np.maximum(variance[:m, None] + variance[None, m:] - 2 * covariance[:m, m:], 1e-24))
    other = (points[:m, None] != points[None, m:]).any(axis=2)
    return float(np.mean(ndtr(gap / spread)[other])) if other.any() else 0.5
