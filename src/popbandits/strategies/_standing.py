"""Standings: what each agent has shown since its weights or hparams last changed, and what its weights are worth.

A score judges weights and hparams together. A low learning rate calms the weights and raises the score at once; a high
one makes progress that no score shows yet. To judge the weights alone, an agent trains a copy of them with the hparams
of the leader: an *heir*. An agent is *worth* the best that it or an heir of the last four intervals has reached.

    m agents whose weights have reached an age, in intervals
"""

from dataclasses import dataclass, replace

import numpy as np

from popbandits._types import Bools, Floats, Ints
from popbandits.population import History, View

_FAR = 32  # intervals that are looked back at the most
_RECENT = 4  # intervals for which an heir tells what its donor's weights are worth


@dataclass(frozen=True)
class Standings:
    """The agents whose weights have reached an age, arrays of length m.

    Args:
        agent, row: their ids, and the reports by which they are compared.
        score, error: those reports' scores and standard errors, 0 where no error is known.
        held: how many intervals each has trained since its weights or hparams changed.
        worth: the best of its score and the first scores of its heirs of the last four intervals.
        tested: whether it has had an heir in that time, or trains with the leader's hparams itself.
        stirred: the mean square of a gain since the last change, less what the errors of scores explain; near 0 when
            nothing happens.
    """

    agent: Ints
    row: Ints
    score: Floats
    error: Floats
    held: Ints
    worth: Floats
    tested: Bools
    stirred: Floats


def standings(view: View, age: int) -> Standings:
    """Return how the agents stood when their weights had trained so many intervals.

    Out of step, agents that are ahead are compared as they were then: who has trained longer would lead otherwise.
    Those that have changed since are left out, since nothing is known of them at that age.
    """
    history = view.history
    reached = [_row_at(history, row, age) for row in view.last if row >= 0 and history.age[row] >= age]
    rows = np.array([row for row in reached if row is not None], dtype=np.int64)
    score, error = history.score, np.nan_to_num(history.score_error)
    first, held, stirred = rows.copy(), np.ones(len(rows), dtype=np.int64), np.zeros(len(rows))
    same = np.ones(len(rows), dtype=bool)
    with np.errstate(invalid="ignore", over="ignore"):
        for _ in range(_FAR):
            before = np.maximum(history.before[first], 0)
            gain = score[first] - score[before]
            known = same & (history.before[first] >= 0)
            stirred += np.where(known, gain**2 - error[first] ** 2 - error[before] ** 2, 0.0)
            same = known & (history.agent[before] == history.agent[first])
            same &= (history.points[before] == history.points[first]).all(axis=1)
            if not same.any():
                break
            held, first = held + same, np.where(same, before, first)
    worth, tested = _judged_by_heirs(history, rows, age)
    return Standings(history.agent[rows], rows, score[rows], error[rows], held, worth, tested, stirred / held)


def beside(stand: Standings, leader: int, history: History) -> Standings:
    """Return standings in which those with the leader's hparams count as tested: their own scores judge their weights.

    Args:
        stand: of the population.
        leader: its place in them.
        history: of the population.
    """
    alike = (history.points[stand.row] == history.points[stand.row[leader]]).all(axis=1)
    return replace(stand, tested=stand.tested | alike)


def _judged_by_heirs(history: History, rows: Ints, age: int) -> tuple[Floats, Bools]:
    """Return what the agents are worth by their own scores and those of recent heirs, and who has had one."""
    worth, tested = history.score[rows].copy(), np.zeros(len(rows), dtype=bool)
    place: dict[int, int] = {}  # of the agent whose weights now come from those of a row
    for i, row in enumerate(rows.tolist()):
        own = row
        for _ in range(_RECENT + 1):
            place[own] = i
            before = int(history.before[own])
            if before < 0 or history.agent[before] != history.agent[own]:
                break
            own = before
    recent = (history.age > age - _RECENT) & (history.age <= age) & (history.before >= 0)
    copies = np.flatnonzero(recent & (history.agent != history.agent[history.before]) & np.isfinite(history.score))
    for copy in copies.tolist():
        donor = place.get(int(history.before[copy]))
        if donor is not None:
            tested[donor] = True
            worth[donor] = np.fmax(worth[donor], history.score[copy])
    return worth, tested


def _row_at(history: History, row: int, age: int) -> int | None:
    """Return the agent's report at an age of its weights; None when its weights or hparams have changed since."""
    while history.age[row] > age:
        before = int(history.before[row])
        if before < 0 or history.agent[before] != history.agent[row]:
            return None
        if (history.points[before] != history.points[row]).any():
            return None
        row = before
    return row
