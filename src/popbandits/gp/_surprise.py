"""Surprise: whether what was learned still holds.

A function that drifts is followed by forgetting a little in every interval. One that jumps is not: what was learned an
interval ago is all wrong at once, and the model, as it stood before, says so: the newest interval is then more likely
to somebody who knows nothing than to somebody who remembers.
"""

from popbandits._types import Floats
from popbandits.gp._kernel import Kernel, Theta
from popbandits.gp._rows import Rows
from popbandits.gp._window import cumulative


def surprise(kernel: Kernel, theta: Theta, rows: Rows, y: Floats) -> float:
    """Return by how many nats the newest interval is likelier without the past: log p(newest) − log p(newest | past).

    Args:
        kernel, theta: the GP, as it was before the newest interval.
        rows: n rows ordered newest first.
        y: their improvements, n.
    """
    n = len(rows)
    newest = int((rows.t == rows.t[0]).sum()) if n else 0
    if newest == n:
        return 0.0
    K = kernel.observed(theta, rows, rows)
    alone = cumulative(K[:newest, :newest], y[:newest])
    remembered = cumulative(K[::-1, ::-1], y[::-1])  # the past first
    if alone is None or remembered is None:
        return 0.0
    return float(alone[-1] - (remembered[-1] - remembered[n - newest - 1]))
