"""Standings: what each agent has shown since its weights or hparams last changed.

A change has effects that stay and effects that do not. A lower learning rate raises the score at once, because the
weights stop jumping about, and adds nothing afterwards. So two things are told apart: the *jump*, which is what the
first interval after a change gained, and what later intervals gained with the same hparams. The *promise* of an agent
is its score without the part of the jump that later intervals did not repeat.

    m agents that have reached an interval
"""

from dataclasses import dataclass

import numpy as np

from popbandits._types import Floats, Ints
from popbandits.population import History, View

_FAR = 32  # intervals that are looked back at the most


@dataclass(frozen=True)
class Standings:
    """The agents that have reached an interval, arrays of length m.

    Args:
        agent, row: their ids, and the reports by which they are compared.
        score, error: those reports' scores and standard errors, 0 where no error is known.
        held: how many intervals each has trained since its weights or hparams changed.
        promise: the score without what came at once and did not stay.
        stirred: the mean square of a gain since then, less what the errors of scores explain; near 0 when nothing
            happens.
    """

    agent: Ints
    row: Ints
    score: Floats
    error: Floats
    held: Ints
    promise: Floats
    stirred: Floats


def standings(view: View, interval: int) -> Standings:
    """Return how the agents that have reached an interval stood at its end.

    Out of step, agents that are ahead are compared as they were then: who has trained longer would lead otherwise.
    """
    history = view.history
    reached = [row for row in view.last if row >= 0 and history.interval[row] >= interval]
    rows = np.array([_row_at(history, row, interval) for row in reached], dtype=np.int64)
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
        jump = np.where(history.before[first] >= 0, score[first] - score[np.maximum(history.before[first], 0)], np.nan)
        later = np.where(held > 1, (score[rows] - score[first]) / np.maximum(held - 1, 1), np.nan)
        passing = np.maximum(0.0, jump - np.maximum(0.0, later))
    promise = score[rows] - np.where(np.isfinite(passing), passing, 0.0)
    return Standings(history.agent[rows], rows, score[rows], error[rows], held, promise, stirred / held)


def _row_at(history: History, row: int, interval: int) -> int:
    if history.interval[row] <= interval:
        return row
    then = np.flatnonzero((history.agent == history.agent[row]) & (history.interval <= interval))
    return int(then[-1])
