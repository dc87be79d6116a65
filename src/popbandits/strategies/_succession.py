"""Succession: who copies whom, and who goes on as before. It is slow to act, because most leads are luck.

1. *Nobody is copied before somebody has learned something*: a donor's score exceeds every first report of the run, by
   two standard errors and a twentieth of the range of all scores. Where learning first costs score, those who learn
   nothing lead at first, and copying them would end all learning. While there is no donor, those whose scores move
   least draw new hparams and keep their weights. In the second half of the run whoever leads is copied.
2. *Weights are judged by their heirs.* In every other interval the agent that is replaced copies the weights of one
   that does not lead, and trains them with the leader's hparams: it is an heir. If the heir does well, its donor makes
   progress that its own score does not show. The donor stays, and may be copied like the leader. Agents whose heirs did
   badly are replaced first, then those whose scores move least.
3. *Agents that have changed have time*: they are not replaced within `patience` intervals.
4. *At the end the score counts*. In the last fifth of the run what comes at once is welcome, and nothing has time any
   more. Before the last interval all others copy the best: as many tickets as there are agents.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from popbandits._random import generator
from popbandits._types import Bools, Floats, Ints
from popbandits.population import View
from popbandits.strategies._copying import finite_scores, next_interval
from popbandits.strategies._standing import Standings, beside, standings

_SURE, _PART = 2.0, 0.05  # what a donor has learned: standard errors, and a part of the range of scores
_END = 5  # the last fifth of a run is its end
_STILL = 2  # times the patience after which an agent that learns nothing may draw anew


class Rules(NamedTuple):
    """Which rules hold: all of them, but in comparisons that ask what each is worth.

    Args:
        learned: a donor has learned something.
        heirs: of so many moves one tests the weights of an agent that does not lead; with 0 none does, and weights are
            judged by the scores of their agents alone.
        end: the last fifth of a run is different.
        scores: the model learns scores; else it learns gains, as the paper's does.
    """

    learned: bool = True
    heirs: int = 2
    end: bool = True
    scores: bool = True


@dataclass(frozen=True)
class Move:
    """An agent that gets new hparams.

    Args:
        agent: who.
        source: whose weights it trains next: its own, a donor's, or None for fresh ones.
        anew: whether its hparams are drawn from the whole space; else they are near the source's.
        like: the agent whose hparams it takes as they are, if any: this is how weights are tested.
    """

    agent: int
    source: int | None
    anew: bool = False
    like: int | None = None


@dataclass(frozen=True)
class Succession:
    """What becomes of the agents that are due: those that move; the rest goes on as before.

    Args:
        moves: of due agents, in the order in which they choose.
        ending: whether the run is in its last fifth.
    """

    moves: tuple[Move, ...]
    ending: bool

    @property
    def movers(self) -> frozenset[int]:
        """Who gets new hparams."""
        return frozenset(move.agent for move in self.moves)


def succession(view: View, live: tuple[int, ...], quantile: float, patience: int, rules: Rules) -> Succession:
    """Return what becomes of the agents that are due and not spent.

    Args:
        view, live: the population, and which of its agents are due.
        quantile: the share of agents that may be replaced after an interval; at least one, unless it is 0.
        patience: intervals that an agent has after a change.
        rules: which of them hold.
    """
    interval = next_interval(view, live[0]) - 1
    left = view.intervals - interval
    ending = rules.end and is_ending(view, interval)
    latest = finite_scores(view)
    if not latest:
        return Succession(tuple(Move(agent, None, anew=True) for agent in live), ending)
    if view.size == 1:
        patient = standings(view, int(view.history.age[view.last[0]])).held[0] < patience and not ending
        return Succession(() if patient or quantile == 0 else (Move(live[0], live[0]),), ending)

    lost = [agent for agent in live if agent not in latest]
    compared = compared_at(view, int(view.history.age[view.last[live[0]]]))
    if compared == 0:
        best = max(latest, key=lambda agent: (latest[agent], -agent))
        return Succession(tuple(Move(agent, best, anew=True) for agent in lost), ending)
    stand = standings(view, compared)
    finite = np.isfinite(stand.score)
    # Out of step, an agent may be ahead of the age that is compared: what it has learned since counts.
    newest = np.array([latest.get(agent, -np.inf) for agent in stand.agent.tolist()])
    able = finite & np.isfinite(newest)
    if rules.learned and 2 * interval < view.intervals:
        able &= learned(view, newest, stand.error)
    leader = max(np.flatnonzero(able).tolist(), key=lambda i: (stand.score[i], -stand.agent[i]), default=None)
    best = max(latest, key=lambda agent: (latest[agent], -agent)) if leader is None else int(stand.agent[leader])
    moves = [Move(agent, best, anew=leader is None) for agent in lost]
    most = max(1, int(quantile * view.size)) if quantile > 0 else 0
    room = max(0, (view.size - 1 if ending and left == 1 and quantile > 0 else most) - len(lost))
    # An agent that trains a copy already has been replaced, whatever it scored before.
    replaced = {agent for agent, job in view.training.items() if job.source != agent}
    free = [i for i in np.flatnonzero(finite).tolist() if stand.agent[i] not in replaced]
    if leader is None:
        still = [i for i in free if stand.held[i] >= _STILL * patience]
        still.sort(key=lambda i: (stand.stirred[i], stand.agent[i]))
        moves += [Move(int(stand.agent[i]), int(stand.agent[i]), anew=True) for i in still[:room]]
    elif ending or rules.heirs == 0:
        free = [i for i in free if stand.score[i] < stand.score[leader] and (ending or stand.held[i] >= patience)]
        free.sort(key=lambda i: (stand.score[i], stand.agent[i]))
        moves += [Move(int(stand.agent[i]), best) for i in free[:room]]
    else:
        ready = [i for i in free if stand.held[i] >= patience]
        moves += _by_heirs(
            view, beside(stand, leader, view.history), able, leader, ready, room, interval, every=rules.heirs
        )
    return Succession(tuple(move for move in moves if move.agent in live), ending)


def _by_heirs(
    view: View,
    stand: Standings,
    able: Bools,
    leader: int,
    ready: list[int],
    room: int,
    interval: int,
    *,
    every: int,
) -> list[Move]:
    """Return who is replaced while weights are judged by heirs: by copies that do better, or that test weights.

    Args:
        view, stand: of the population.
        able, leader: who may be copied, and who leads, as places in the standings.
        ready: whose time is over.
        room: how many may be replaced.
        interval: that has ended.
        every: of so many moves one tests weights.
    """
    rng = generator(view.seed, "heirs", interval, 0)
    top = stand.worth[leader]
    trunks = [i for i in np.flatnonzero(able).tolist() if stand.worth[i] + _SURE * stand.error[i] >= top]
    untested = [i for i in ready if i != leader and not stand.tested[i]]
    moves: list[Move] = []
    gone: set[int] = set()
    given: set[int] = set()
    for i in first_to_go(stand, leader, ready):
        if len(moves) == room:
            break
        if i in given:
            continue
        tests = [j for j in untested if j != i and j not in gone | given]
        if tests and (interval + len(moves)) % every == 0:
            source, like = max(tests, key=lambda j: (stand.stirred[j], -j)), leader
        else:
            source, like = int(rng.choice([j for j in trunks if j != i and j not in gone] or [leader])), None
        moves.append(
            Move(int(stand.agent[i]), int(stand.agent[source]), like=None if like is None else int(stand.agent[like]))
        )
        gone.add(i)
        given.add(source)
    return moves


def first_to_go(stand: Standings, leader: int, ready: list[int]) -> list[int]:
    """Return who may be replaced while weights are judged by heirs, the first to go first.

    Weights that have been tested are known to be worse than the leader's; of the others, those that stand still go
    first.

    Args:
        stand: of the population.
        leader: its place in the standings.
        ready: whose time is over, as places.
    """
    worse = [i for i in ready if i != leader and stand.worth[i] < stand.worth[leader]]
    return sorted(worse, key=lambda i: (not stand.tested[i], (stand.worth if stand.tested[i] else stand.stirred)[i], i))


def is_ending(view: View, interval: int) -> bool:
    """Return whether a run is in its last fifth after an interval."""
    return view.intervals - interval <= max(1, view.intervals // _END)


def compared_at(view: View, age: int) -> int:
    """Return the age of weights at which agents are compared: the highest that half of them have reached, or less.

    In step it is the number of the interval that has just ended. Out of step agents train at their own pace, and copies
    are as old as their donors: who is ahead is judged by what it was at that age. It is 0 while half have no weights.

    Args:
        view: of the population.
        age: that it is at most.
    """
    return min(age, half_reached(view, view.history.age))


def half_reached(view: View, column: Ints) -> int:
    """Return the highest number in the agents' latest rows of a column that half of the agents have reached; or 0."""
    reached = sorted((int(column[row]) for row in view.last if row >= 0), reverse=True)
    half = (view.size + 1) // 2
    return reached[half - 1] if len(reached) >= half else 0


def learned(view: View, score: Floats, error: Floats) -> Bools:
    """Return which scores clearly exceed the best first report of a run: whoever has one has learned something.

    Args:
        view: of the population.
        score, error: scores and their standard errors, m each; 0 where no error is known.
    """
    history = view.history
    known = np.isfinite(history.score)
    fresh = np.flatnonzero((history.before < 0) & known)
    if len(fresh) == 0:
        return np.isfinite(score)
    first = int(fresh[np.argmax(history.score[fresh])])
    with np.errstate(over="ignore", invalid="ignore"):
        doubt = np.hypot(error, np.nan_to_num(history.score_error[first]))
        least = _SURE * doubt + _PART * float(np.ptp(history.score[known]))
        return np.asarray(score - history.score[first] > least)
