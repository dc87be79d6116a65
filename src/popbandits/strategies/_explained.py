"""What PB2 makes of a population, for people: where each agent stands, how sure that is, and what hparams have done.

Nothing here decides anything. It is computed from the reports when somebody asks.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from popbandits._types import Bools, Floats
from popbandits.population import History, View
from popbandits.strategies._standing import Standings, beside, standings
from popbandits.strategies._succession import first_to_go, half_reached, is_ending, learned

_MOVED = 0.01  # of the range of all scores: an agent whose score moves less in an interval stands still
_SPARE = 3  # rows beyond one for each hyperparameter, below which no effect is estimated


@dataclass(frozen=True)
class Place:
    """Where one agent stands.

    Args:
        agent: its id.
        held: how many intervals it has trained since its weights or hparams changed.
        worth: the best that it, or a copy of its weights under the leader's hparams, has reached lately.
        learned: whether its score clearly exceeds every first report of the run.
        still: whether its score has not moved since the change, beyond its error: its updates change nothing.
        donor: whom it copied when it last changed; None when it kept its own weights or began with fresh ones.
        fate: what the rules make of it; empty when the run has ended.
    """

    agent: int
    held: int
    worth: float
    learned: bool
    still: bool
    donor: int | None
    fate: str


@dataclass(frozen=True)
class Effect:
    """What raising a hyperparameter by a tenth of its range has done, each as an estimate and its standard error.

    Args:
        name: of the hyperparameter.
        at_once: the change of the score in the interval after the change.
        stays: the change of the gain of each later interval.
    """

    name: str
    at_once: tuple[float, float] | None
    stays: tuple[float, float] | None

    def negated(self) -> "Effect":
        """Return the effect on a score of the other sign."""
        turned = [None if known is None else (-known[0], known[1]) for known in (self.at_once, self.stays)]
        return Effect(self.name, *turned)


@dataclass(frozen=True)
class Explanation:
    """What a strategy makes of a population.

    Args:
        places: of the agents with a finite score, by id. Out of step, those that have changed since half of the
            population was as far are left out: nothing is known of them yet.
        sure: the probability that the agent with the highest score is better than the next, by the errors of their
            scores; None when these are not known.
        effects: of the numeric hyperparameters.
    """

    places: tuple[Place, ...]
    sure: float | None
    effects: tuple[Effect, ...]

    def negated(self) -> "Explanation":
        """Return the explanation for a run whose scores have the other sign."""
        places = tuple(replace(place, worth=-place.worth) for place in self.places)
        return Explanation(places, self.sure, tuple(effect.negated() for effect in self.effects))


def explain(view: View, patience: int) -> Explanation | None:
    """Return where the agents stand after the interval that half of them have reached; None before the first.

    Args:
        view: of the population.
        patience: intervals that an agent has after a change.
    """
    history = view.history
    interval = half_reached(view, history.interval)
    if interval == 0:
        return None
    stand = standings(view, half_reached(view, history.age))
    finite = np.isfinite(stand.score)
    if not finite.any():
        return None
    clear = learned(view, stand.score, stand.error)
    ending = is_ending(view, interval)
    able = finite & (clear | (2 * interval >= view.intervals))
    best = int(np.argmax(np.where(able, stand.score, -np.inf))) if able.any() else None
    stand = stand if best is None else beside(stand, best, history)
    going = _going(stand, best, ending)
    still = _still(history, stand)
    places = []
    for i in np.flatnonzero(finite).tolist():
        held, agent = int(stand.held[i]), int(stand.agent[i])
        first = int(stand.row[i])
        for _ in range(held - 1):
            first = int(history.before[first])
        donor = int(history.donor[first])
        places.append(
            Place(
                agent,
                held,
                float(stand.worth[i]),
                bool(clear[i]),
                bool(still[i]),
                donor if donor not in (-1, agent) else None,
                "" if interval >= view.intervals else _fate(stand, i, best, going, 0 if ending else patience),
            )
        )
    return Explanation(tuple(places), _sure(stand), _effects(history))


def _going(stand: Standings, best: int | None, ending: bool) -> int | None:
    """Return whose turn it is to be replaced, leaving aside whether it still has time."""
    if best is None:
        return None
    others = np.flatnonzero(np.isfinite(stand.score) & (np.arange(len(stand.score)) != best)).tolist()
    if ending:
        return min(
            (i for i in others if stand.score[i] < stand.score[best]), key=lambda i: stand.score[i], default=None
        )
    return next(iter(first_to_go(stand, best, others)), None)


def _fate(stand: Standings, i: int, best: int | None, going: int | None, patience: int) -> str:
    held = int(stand.held[i])
    if best is None:
        return "nobody is copied before somebody has learned"
    if i == best:
        return "leads: others copy it"
    if held < patience:
        return (
            f"{'next to go, but spared' if i == going else 'has time'}: {held} of {patience} intervals since its change"
        )
    if patience and stand.tested[i] and stand.worth[i] >= stand.worth[best]:
        return "stays: a copy of its weights does as well as the leader"
    return "next to go" if i == going else "goes on"


def _still(history: History, stand: Standings) -> Bools:
    known = history.score[np.isfinite(history.score)]
    with np.errstate(over="ignore", invalid="ignore"):
        little = np.square(_MOVED * np.ptp(known))
        return np.asarray((stand.held >= 2) & (stand.stirred <= little))


def _sure(stand: Standings) -> float | None:
    order = [i for i in np.argsort(-stand.score).tolist() if np.isfinite(stand.score[i])]
    if len(order) < 2:
        return None
    first, second = order[:2]
    error = float(np.hypot(stand.error[first], stand.error[second]))
    if not error > 0:
        return None
    return 0.5 * math.erfc(float(stand.score[second] - stand.score[first]) / error / math.sqrt(2))


def _effects(history: History) -> tuple[Effect, ...]:
    numeric = np.flatnonzero(~history.space.is_choice)
    before = np.maximum(history.before, 0)
    known = (history.before >= 0) & np.isfinite(history.improvement)
    moved = (history.points - history.points[before])[:, numeric]
    changed = (moved != 0).any(axis=1)
    at_once = _slopes(history, known & changed, moved)
    stays = _slopes(history, known & ~changed, history.points[:, numeric])
    names = [name for name, choice in zip(history.space.names, history.space.is_choice, strict=True) if not choice]
    return tuple(Effect(name, a, b) for name, a, b in zip(names, at_once, stays, strict=True))


def _slopes(history: History, rows: Bools, x: Floats) -> list[tuple[float, float] | None]:
    """Return how the gain of some rows changes with each column of x, by a tenth of it; gains less those of peers."""
    d, n = x.shape[1], int(rows.sum())
    if n < d + _SPARE:
        return [None] * d
    age = history.age[rows]
    ages, place = np.unique(age, return_inverse=True)
    count = np.bincount(place)
    with np.errstate(over="ignore", invalid="ignore"):
        both = np.column_stack([x[rows], history.improvement[rows]])
        both = both - np.stack([np.bincount(place, column) / count for column in both.T], axis=1)[place]
        X, y = both[:, :-1], both[:, -1]
        scale = np.sqrt((X**2).mean(axis=0))
        free = n - len(ages) - d
        if free < 1 or not np.isfinite(y).all():
            return [None] * d
        # A row's worth of doubt keeps hparams that move together from taking each other's effect.
        precision = X.T @ X + np.diag(np.maximum(scale, 1e-6) ** 2)
        inverse = np.linalg.inv(precision)
        slope = inverse @ X.T @ y
        variance = float(((y - X @ slope) ** 2).sum()) / free
        error = np.sqrt(variance * np.diagonal(inverse))
    told = (scale > 0) & np.isfinite(slope) & np.isfinite(error)
    return [(0.1 * float(s), 0.1 * float(e)) if w else None for s, e, w in zip(slope, error, told, strict=True)]
