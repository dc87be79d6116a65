"""The four LAPACK calls the GP needs, without scipy's copies and checks.

scipy.linalg is imported at the first call: it takes longer than the rest of popbandits together, and a program that
only reads a run never needs it.
"""

import numpy as np

from popbandits._types import Floats


def cholesky(K: Floats) -> Floats | None:
    """Return the lower factor L of K = L Lᵀ (n x n), or None when K is not positive definite. Overwrites K."""
    from scipy.linalg.lapack import dpotrf

    # K is symmetric, so its transpose is the column-major matrix LAPACK wants, without a copy.
    L, info = dpotrf(K.T, lower=1, clean=1, overwrite_a=1)
    return L if info == 0 and np.isfinite(np.diagonal(L)).all() else None


def jittered_cholesky(K: Floats) -> tuple[Floats | None, float]:
    """Return the factor of K, and the jitter on its diagonal that it needed; (None, inf) when none up to 1 % helps."""
    if len(K) == 0:
        return np.zeros((0, 0)), 0.0
    scale = float(np.mean(np.diagonal(K)))
    for jitter in (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2):
        trial = K.copy()
        trial[np.diag_indices_from(trial)] += jitter * scale
        L = cholesky(trial)
        if L is not None:
            return L, jitter
    return None, float("inf")


def inverse_lower(L: Floats) -> Floats:
    """Return the lower triangle of (L Lᵀ)⁻¹, zeros above it. Overwrites L."""
    from scipy.linalg.lapack import dpotri

    inverse: Floats = dpotri(L, lower=1, overwrite_c=1)[0]
    return inverse


def solve_lower(L: Floats, B: Floats, *, transposed: bool = False) -> Floats:
    """Return L⁻¹ B, or L⁻ᵀ B when transposed. L is n x n, B is n or n x m."""
    from scipy.linalg.lapack import dtrtrs

    if B.size == 0:
        return B.copy()
    X: Floats = dtrtrs(L, B, lower=1, trans=int(transposed))[0]
    return X
