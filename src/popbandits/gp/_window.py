"""Block length: how many of the newest intervals to believe.

The paper chooses the block length Ñ by marginal likelihood. The total likelihoods of data sets of different size cannot
be compared, so here every length is asked the same question: how likely are the *newest* rows, given the rest of the
window? log p(newest | window) = log p(window) − log p(window without newest). With the rows ordered newest first, the
leading blocks of one Cholesky factor are the factors of all windows, so two factorisations answer for every length.
"""

import numpy as np

from popbandits._types import Floats
from popbandits.gp._kernel import Kernel, Theta
from popbandits.gp._linalg import jittered_cholesky, solve_lower
from popbandits.gp._rows import Rows

_NEWEST_ROWS = 8  # the rows to be predicted: whole intervals, at least this many rows and an eighth of all
_FORGET = 2.0  # nats that forgetting must gain: the likelihood of few rows is itself a noisy judge


def block_length(kernel: Kernel, theta: Theta, rows: Rows, y: Floats) -> int:
    """Return how many of the rows to keep: always whole intervals, the newest ones.

    Args:
        kernel, theta: the GP, fitted.
        rows: n rows ordered newest first.
        y: what they observed, n.
    """
    n = len(rows)
    ends = np.flatnonzero(np.append(rows.t[1:] != rows.t[:-1], True)) + 1  # window sizes that end with an interval
    beyond = ends[ends >= min(max(_NEWEST_ROWS, n // 8), n)]
    newest = int(beyond[0])
    windows = beyond[1:]
    if len(windows) <= 1:
        return n
    K = kernel.observed(theta, rows)
    both = cumulative(K, y)
    given = cumulative(K[newest:, newest:], y[newest:])
    if both is None or given is None:
        return n
    evidence = both[windows - 1] - given[windows - newest - 1]
    best = int(np.argmax(evidence))
    return int(windows[best]) if evidence[best] > evidence[-1] + _FORGET else n


def cumulative(K: Floats, y: Floats) -> Floats | None:
    """Return log p(y_1 … y_k) for every k, up to the constant that is the same for every question. Length n."""
    L, _ = jittered_cholesky(K)
    if L is None:
        return None
    half = solve_lower(L, y)
    likelihood: Floats = np.cumsum(-0.5 * half**2 - np.log(np.diagonal(L)))
    return likelihood
