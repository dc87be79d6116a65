"""What PB2's model is shown: how scores differ from those of peers, given how the scores before did.

The gain of an interval is a bad teacher: in most training the best hparams gain least, because they are ahead already.
So the score itself is learned, less the mean of all reports of the same age, beside a share of the score before that is
carried over. What is left is what the hparams do.
"""

import numpy as np

from popbandits._types import Floats
from popbandits.gp import Rows
from popbandits.population import View
from popbandits.strategies._gains import Evidence, newest

_JUMPS = 10.0  # times the noise of a row whose hparams have just changed: its effect may not stay


def levels_of(view: View, window: int, *, ending: bool) -> Evidence:
    """Return the newest `window` finite scores with what they began with.

    Args:
        view: of the population.
        window: how many reports at most.
        ending: whether effects that come at once count like others, as they do at the end of a run.
    """
    history, recent = view.history, newest(view, window)
    fresh, before = history.before[recent] < 0, np.maximum(history.before[recent], 0)
    known = np.isfinite(history.score[recent]) & (fresh | np.isfinite(history.score[before]))
    recent, fresh, before = recent[known], fresh[known], before[known]
    age = history.age[recent].astype(float)
    with np.errstate(over="ignore", invalid="ignore"):
        y = _among_peers(history.score[recent], age)
        begun = np.where(fresh, 0.0, _among_peers(np.where(fresh, np.nan, history.score[before]), age))
        unit = float(np.sqrt(np.mean(y**2))) if len(y) else 0.0
    if not np.isfinite(unit) or unit <= 1e-12 * max(1e-300, float(np.abs(history.score[recent]).max(initial=0.0))):
        y, begun, unit = np.zeros(len(y)), np.zeros(len(y)), 1.0
    changed = ~fresh & (history.points[recent] != history.points[before]).any(axis=1)
    rows = Rows(
        history.points[recent],
        age,
        begun / unit,
        np.where(changed & (not ending), _JUMPS, 1.0),
    )
    return Evidence(rows, y / unit, unit)


def _among_peers(values: Floats, age: Floats) -> Floats:
    """Return values less the mean of those of the same age; nan stays, and is no part of a mean."""
    known = np.isfinite(values)
    ages, place = np.unique(age, return_inverse=True)
    total = np.bincount(place, np.where(known, values, 0.0), len(ages))
    count = np.maximum(np.bincount(place, known, len(ages)), 1)
    return np.asarray(values - (total / count)[place])
