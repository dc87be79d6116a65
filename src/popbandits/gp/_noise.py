"""Noise that knows the lineage.

It is the score that is observed with noise: F + ε. The improvement of a row is a difference of two scores, so its
noise is ε_after − ε_before. Two rows share an ε when one began with the score the other ended with, or when both began
with the same score (an agent and its copy). With one +1 and one −1 a row in M the noise covariance is σ² M Mᵀ. A model
with independent noise believes the winner of a noisy ranking was as good as it looked; this one does not.
"""

from popbandits._types import Floats
from popbandits.gp._rows import Rows


def noise_pattern(a: Rows, b: Rows, *, lineage: bool) -> Floats:
    """Return the noise covariance in units of σ²: M_a M_bᵀ with lineage, else 1 where it is the same row. n x m."""
    same_end: Floats = (a.after[:, None] == b.after[None, :]).astype(float)
    if not lineage:
        return same_end
    shared = a.before[:, None] == b.before[None, :]
    shared &= a.before[:, None] >= 0  # fresh weights begin with no score, so they share none
    same_end += shared
    same_end -= a.before[:, None] == b.after[None, :]
    same_end -= a.after[:, None] == b.before[None, :]
    return same_end
