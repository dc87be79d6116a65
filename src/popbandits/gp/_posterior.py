"""Posterior: what the GP believes about f at points not yet tried, and how that changes with agents still training.

    mean       from finished rows only                     μ_{t,1} of equation 7
    deviation  given also every row still in training      σ_{t,b} of equation 7

A row in training changes the deviation and not the mean, whatever its outcome will be, so it is conditioned on by one
more row of the Cholesky factor: O(n²), parameters unchanged. f is the function of the hparams alone: neither the
effect that all agents share in an interval nor the noise is part of what is predicted.
"""

from dataclasses import dataclass

import numpy as np

from popbandits._types import Floats
from popbandits.gp._kernel import Kernel, Theta, blend
from popbandits.gp._linalg import jittered_cholesky, solve_lower
from popbandits.gp._rows import Rows


@dataclass(frozen=True)
class Posterior:
    """The belief about f given n finished rows and p rows in training.

    Args:
        kernel, theta: the prior.
        rows: the n + p rows, finished ones first.
        alpha: K⁻¹ y of the finished rows, n.
        L: the lower Cholesky factor of the n + p rows' covariance.
        jitter: what the diagonal needed to be positive definite, relative.
    """

    kernel: Kernel
    theta: Theta
    rows: Rows
    alpha: Floats
    L: Floats
    jitter: float

    @staticmethod
    def given(kernel: Kernel, theta: Theta, rows: Rows, y: Floats) -> "Posterior | None":
        """Return the posterior after finished rows, or None when no jitter makes their covariance regular."""
        K = kernel.observed(theta, rows, rows)
        L, jitter = jittered_cholesky(K)
        if L is None:
            return None
        alpha = solve_lower(L, solve_lower(L, y), transposed=True)
        return Posterior(kernel, theta, rows, alpha, L, jitter)

    def while_training(self, pending: Rows) -> "Posterior":
        """Return the posterior given also that these rows are in training."""
        n, p = len(self.rows), len(pending)
        if p == 0:
            return self
        cross = self.kernel.observed(self.theta, self.rows, pending)
        below = solve_lower(self.L, cross)
        block = self.kernel.observed(self.theta, pending, pending) - below.T @ below
        corner, _ = jittered_cholesky(block)
        if corner is None:
            return self
        L = np.zeros((n + p, n + p), order="F")
        L[:n, :n] = self.L
        L[n:, :n] = below.T
        L[n:, n:] = corner
        return Posterior(self.kernel, self.theta, self.rows.joined(pending), self.alpha, L, self.jitter)

    def mean_and_deviation(self, u: Floats, t: float) -> tuple[Floats, Floats]:
        """Return the mean and the deviation of f at the points u (m x D) in interval t, each of length m."""
        k = self._cross(u, t)
        half = solve_lower(self.L, k)
        variance = self.theta.signal - np.einsum("ij,ij->j", half, half)
        return k[: len(self.alpha)].T @ self.alpha, np.sqrt(np.maximum(variance, self._floor))

    def gradients(self, u: Floats, t: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Return mean and deviation (m), and their gradients in u (m x D, zero along Choice)."""
        k = self._cross(u, t)
        half = solve_lower(self.L, k)
        weights = solve_lower(self.L, half, transposed=True)
        variance = self.theta.signal - np.einsum("ij,ij->j", half, half)
        deviation = np.sqrt(np.maximum(variance, self._floor))
        mean = k[: len(self.alpha)].T @ self.alpha
        slope = self._sensitive(u, k)
        numeric = [not choice for choice in self.kernel.is_choice]
        x, z = self.kernel.numeric(u), self.kernel.numeric(self.rows.u)
        squares = np.array(self.theta.lengthscales) ** 2
        grads = []
        for weighted in (slope[: len(self.alpha)] * self.alpha[:, None], slope * weights):
            # d k_i / d x = k_i (z_i − x) / ℓ², summed over i with weights
            pull = weighted.T @ z[: len(weighted)] - x * weighted.sum(axis=0)[:, None]
            full = np.zeros(u.shape)
            full[:, numeric] = pull / squares
            grads.append(full)
        d_deviation = -grads[1] / deviation[:, None]
        d_deviation[variance <= self._floor] = 0.0
        return mean, deviation, grads[0], d_deviation

    @property
    def _floor(self) -> float:
        return 1e-12 * self.theta.signal

    def _cross(self, u: Floats, t: float) -> Floats:
        """Return the covariance of the rows' improvements with f(u), (n + p) x m."""
        return self.kernel.signal(self.theta, self.rows.u, self.rows.t, u, t)

    def _sensitive(self, u: Floats, k: Floats) -> Floats:
        """Return the part of the cross-covariance that moves with numeric coordinates, (n + p) x m."""
        if not self.kernel.mixed:
            return k
        k_x = self.kernel.numeric_part(self.theta, self.rows.u, u)
        agree = self.kernel.agreement(self.rows.u, u)
        share = (1.0 - self.theta.mix) * 0.5 + self.theta.mix * agree
        whole = blend(self.theta.mix, k_x, agree)
        moved: Floats = k * np.divide(k_x * share, whole, out=np.zeros_like(whole), where=whole > 0)
        return moved
