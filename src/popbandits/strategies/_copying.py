"""The copy step that PBT and PB2 share: who is replaced, and by whose weights. And how both start and stop."""

from dataclasses import dataclass

import numpy as np

from popbandits._random import generator
from popbandits._types import Floats, Hparams
from popbandits.population import Decision, Train, View
from popbandits.space import Space


def start_at_random(view: View) -> Decision:
    """Return a first action for each agent: fresh weights, hparams drawn uniformly.

    Every strategy draws the same ones for the same seed, so that a comparison starts from the same place.
    """
    return Decision(tuple(Train(agent, random_hparams(view, agent, 0)) for agent in range(view.size)))


def random_hparams(view: View, agent: int, interval: int) -> Hparams:
    """Draw hparams uniformly, for one agent after one interval."""
    return view.space.sample(generator(view.seed, "hparams", interval, agent))


def finite_scores(view: View) -> dict[int, float]:
    """Return the latest score of every agent that has reported one, without those that are nan or infinite."""
    scores = {agent: float(view.history.score[row]) for agent, row in enumerate(view.last) if row >= 0}
    return {agent: score for agent, score in scores.items() if np.isfinite(score)}


def near(view: View, donor: int, agent: int, spread: float) -> Hparams:
    """Draw hparams near those that a donor last trained with.

    Args:
        view: of the population.
        donor: whose hparams to begin with.
        agent: for whom; it must have reported.
        spread: the deviation of the move along each coordinate of the unit cube. What would leave the cube is reflected
            at its side. A Choice, whose values have no order, is drawn anew with this probability.
    """
    rng = generator(view.seed, "near", next_interval(view, agent) - 1, agent)
    return view.space.decode(neighbours(view.space, view.history.points[view.last[donor]], spread, rng, 1)[0])


def neighbours(space: Space, point: Floats, spread: float, rng: np.random.Generator, count: int) -> Floats:
    """Return random points near one, count x dim; `near` says how they are drawn."""
    found = []
    for _ in range(count):
        moved = np.abs(point + spread * rng.standard_normal(space.dim)) % 2.0
        moved = np.where(moved > 1.0, 2.0 - moved, moved)
        drawn = space.encode(space.sample(rng))
        anew = rng.random(space.dim) < spread
        found.append(np.where(space.is_choice, np.where(anew, drawn, point), moved))
    return space.snap(np.array(found).reshape(count, space.dim))


def next_interval(view: View, agent: int) -> int:
    """Return the number of the interval that an agent which has reported trains next."""
    return int(view.history.interval[view.last[agent]]) + 1


def next_age(view: View, source: int | None) -> int:
    """Return how old weights will be that train one more interval: a source's, or fresh ones."""
    return 1 if source is None else int(view.history.age[view.last[source]]) + 1


def spent(view: View, agent: int) -> bool:
    """Return whether an agent has trained all its intervals."""
    return next_interval(view, agent) > view.intervals


def keep(view: View, agent: int) -> Train:
    """Return the action that goes on with the agent's own weights and hparams."""
    return Train(agent, view.history.hparams(view.last[agent]), agent)


@dataclass(frozen=True)
class CopyStep:
    """Who copies whom.

    Args:
        sources: for each due agent, whose weights it trains next: its own, a donor's, or None for fresh ones.
        middle: the agents of the whole population that neither copy nor may be copied, the worst first.
        donors: the agents that may be copied, the worst first.
    """

    sources: dict[int, int | None]
    middle: tuple[int, ...] = ()
    donors: tuple[int, ...] = ()


def copy_step(view: View, due: tuple[int, ...], quantile: float) -> CopyStep:
    """Return whose weights each due agent trains next, and who is neither among the worst nor among the best.

    Agents are ranked by their latest score, equals in random order. The bottom `quantile` (at least one agent, unless
    it is 0) copy one of the top `quantile`, uniformly. Agents whose score is not finite are replaced first, however
    many they are; when no score is finite there is nobody to copy, and they start afresh. One agent alone goes on.
    Out of step, an agent that trains a copy already is not among the worst any more, whatever it scored before.
    """
    reported = [agent for agent in range(view.size) if view.last[agent] >= 0]
    scores = {agent: float(view.history.score[view.last[agent]]) for agent in reported}
    finite = [agent for agent in reported if np.isfinite(scores[agent])]
    replaced = {agent for agent, job in view.training.items() if job.source != agent}
    lost = [agent for agent in reported if agent not in {*finite, *replaced}]
    interval = next_interval(view, due[0]) - 1
    if not finite:
        return CopyStep(dict.fromkeys(due, None))

    shuffled = generator(view.seed, "rank", interval, due[0]).permutation(len(finite))
    ranked = sorted((finite[i] for i in shuffled), key=lambda agent: scores[agent])
    at_each_end = max(1, int(quantile * len(reported))) if quantile > 0 else 0
    replaceable = [agent for agent in ranked if agent not in replaced]
    bottom = {*replaceable[: min(max(0, at_each_end - len(lost)), len(replaceable) // 2)], *lost}
    rest = [agent for agent in ranked if agent not in bottom]
    top = tuple(rest[-max(1, at_each_end) :])
    sources: dict[int, int | None] = {
        agent: draw_donor(view, agent, top) if agent in bottom else agent for agent in due
    }
    return CopyStep(sources, tuple(agent for agent in rest if agent not in top), top)


def draw_donor(view: View, agent: int, donors: tuple[int, ...]) -> int:
    """Return whom an agent that is replaced copies: one of the donors, uniformly."""
    rng = generator(view.seed, "donor", next_interval(view, agent) - 1, agent)
    return int(donors[int(rng.integers(len(donors)))])
