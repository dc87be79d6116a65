"""Numbers without units: centred, scaled, and with tails that cannot lead the fit astray.

Returns of RL agents have heavy tails: one agent that falls over, or one that solves the task, outweighs all the rest in
a mean and a variance. Values further than five robust deviations from the median are pulled in to five.
"""

import numpy as np

from popbandits._types import Floats

_REACH = 5.0


def standardise(y: Floats) -> tuple[Floats, float]:
    """Return finite numbers with tails pulled in, and the unit they are in now.

    Args:
        y: what was observed, n.

    Returns:
        (y', unit): y' has mean 0 and deviation 1, and y' · unit is y up to a constant and the tails. Constant numbers
        become zeros, unit 1.
    """
    if len(y) == 0:
        return y.copy(), 1.0
    centre = float(np.median(y))
    spread = 1.4826 * float(np.median(np.abs(y - centre)))
    # More than half of the values equal: the median deviation says nothing, so nothing is pulled in.
    tame = np.clip(y, centre - _REACH * spread, centre + _REACH * spread) if spread > 0 else y
    with np.errstate(over="ignore", invalid="ignore"):
        off = tame - np.mean(tame)
        spread = float(np.std(tame))
    if not np.isfinite(spread) or spread <= 1e-12 * max(1e-300, float(np.abs(tame).max())):
        return np.zeros_like(y), 1.0
    return off / spread, spread
