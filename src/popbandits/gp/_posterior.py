"""Posterior: what the GP believes about f at points not yet tried, and how that changes with agents still training.

    mean       from finished rows only                     μ_{t,1} of equation 7
    deviation  given also every row still in training      σ_{t,b} of equation 7

A row in training changes the deviation and not the mean, whatever its outcome will be, so it is conditioned on by one
more row of the Cholesky factor: O(n²), parameters unchanged. f is the function of the hparams alone: neither the
effect that all agents share in an interval, nor what is carried over from the score before, nor the noise is part of
what is predicted.
"""

from dataclasses import dataclass, replace

import numpy as np

from popbandits._types import Floats, Ints
from popbandits.gp._kernel import Kernel, Theta, blend
from popbandits.gp._linalg import jittered_cholesky, solve_lower
from popbandits.gp._rows import Rows

_FLOOR = 1e-12  # of the variance, relative to the prior's


@dataclass(frozen=True)
class Posterior:
    """The belief about f given n finished rows and p rows in training.

    Args:
        kernel, theta: the prior.
        rows: the n + p rows, finished ones first.
        alpha: K⁻¹ y of the finished rows, n.
        L: the lower Cholesky factor of the covariance of the rows that the deviation is conditioned on.
        jitter: what the diagonal needed to be positive definite, relative.
        subset: which rows those are; None for all n + p. See `near`.
    """

    kernel: Kernel
    theta: Theta
    rows: Rows
    alpha: Floats
    L: Floats
    jitter: float
    subset: Ints | None = None

    @staticmethod
    def given(kernel: Kernel, theta: Theta, rows: Rows, y: Floats) -> "Posterior | None":
        """Return the posterior after finished rows, or None when no jitter makes their covariance regular."""
        K = kernel.observed(theta, rows)
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
        cross = self.kernel.shared(self.theta, self.rows, pending)
        below = solve_lower(self.L, cross)
        block = self.kernel.observed(self.theta, pending) - below.T @ below
        corner, _ = jittered_cholesky(block)
        if corner is None:
            return self
        L = np.empty((n + p, n + p), order="F")
        L[:n, :n] = self.L
        L[:n, n:] = 0.0
        L[n:, :n] = below.T
        L[n:, n:] = corner
        return replace(self, rows=self.rows.joined(pending), L=L)

    def near(self, u: Floats, t: float, most: int) -> "Posterior":
        """Return an approximation for the neighbourhood of the points u (m x D) in interval t, cheap to climb on.

        The mean stays exact. The deviation is conditioned only on the `most` rows that tell most about the points, so
        it is at least the exact one.
        """
        if len(self.rows) <= most:
            return self
        telling = np.sort(np.argsort(-self._cross(u, t).max(axis=1), kind="stable")[:most])
        rows = self.rows[telling]
        L, jitter = jittered_cholesky(self.kernel.observed(self.theta, rows))
        return self if L is None else replace(self, L=L, jitter=jitter, subset=telling)

    def mean_and_deviation(self, u: Floats, t: float) -> tuple[Floats, Floats]:
        """Return the mean and the deviation of f at the points u (m x D) in interval t, each of length m."""
        k = self._cross(u, t)
        half = solve_lower(self.L, self._conditioned(k))
        return k[: len(self.alpha)].T @ self.alpha, np.sqrt(self._variance(half))

    def halves(self, u: Floats, t: float, known: Floats | None = None) -> Floats:
        """Return L⁻¹ k for the points u (m x D), (n + p) x m; their squares' sums are what the variance has lost.

        Args:
            u, t: the points and the interval.
            known: what this returned before the newest rows came in training, so that only those are computed.
        """
        old = 0 if known is None else len(known)
        k = self.kernel.signal(self.theta, self.rows.u[old:], self.rows.t[old:], u, t)
        if known is None:
            return solve_lower(self.L, k)
        k -= self.L[old:, :old] @ known
        return np.concatenate([known, solve_lower(self.L[old:, old:], k)])

    def deviation(self, halves: Floats) -> Floats:
        """Return the deviation of f at points from their halves, length m."""
        return np.sqrt(self._variance(halves))

    def covariance(self, u: Floats, t: float) -> Floats:
        """Return the covariance of f at the points u (m x D) in interval t, m x m."""
        halves = self.halves(u, t)
        prior: Floats = self.kernel.signal(self.theta, u, np.full(len(u), t), u, t)
        return prior - halves.T @ halves

    def mean(self, u: Floats, t: float) -> Floats:
        """Return the mean of f at the points u (m x D) in interval t, length m."""
        n = len(self.alpha)
        return self.kernel.signal(self.theta, self.rows.u[:n], self.rows.t[:n], u, t).T @ self.alpha

    def gradients(self, u: Floats, t: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Return mean and deviation (m), and their gradients in u (m x D, zero along Choice)."""
        k = self._cross(u, t)
        half = solve_lower(self.L, self._conditioned(k))
        weights = solve_lower(self.L, half, transposed=True)
        variance = self._variance(half)
        deviation = np.sqrt(variance)
        mean = k[: len(self.alpha)].T @ self.alpha
        slope = self._sensitive(u, k)
        numeric = [not choice for choice in self.kernel.is_choice]
        x, z = self.kernel.numeric(u), self.kernel.numeric(self.rows.u)
        squares = np.array(self.theta.lengthscales) ** 2
        grads = []
        n = len(self.alpha)
        for weighted, at in (
            (slope[:n] * self.alpha[:, None], z[:n]),
            (self._conditioned(slope) * weights, self._conditioned(z)),
        ):
            # d k_i / d x = k_i (z_i − x) / ℓ², summed over i with weights
            pull = weighted.T @ at - x * weighted.sum(axis=0)[:, None]
            full = np.zeros(u.shape)
            full[:, numeric] = pull / squares
            grads.append(full)
        d_deviation = -grads[1] / deviation[:, None]
        d_deviation[variance <= _FLOOR * self.theta.signal] = 0.0
        return mean, deviation, grads[0], d_deviation

    def _variance(self, half: Floats) -> Floats:
        lost: Floats = np.einsum("ij,ij->j", half, half)
        return np.maximum(self.theta.signal - lost, _FLOOR * self.theta.signal)

    def _conditioned(self, by_row: Floats) -> Floats:
        """Return the part of an array by row that belongs to the rows the deviation is conditioned on."""
        return by_row if self.subset is None else by_row[self.subset]

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
