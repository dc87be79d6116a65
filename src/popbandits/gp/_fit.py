"""Learning the kernel's parameters: the marginal likelihood, its gradient, weak priors and L-BFGS-B.

They are learned as one vector z without units, which `_parameters` makes.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from popbandits._types import Floats
from popbandits.gp._kernel import Kernel, Theta, blend
from popbandits.gp._linalg import cholesky, inverse_lower, solve_lower
from popbandits.gp._parameters import Priors, in_order, pack, unpack, where
from popbandits.gp._rows import Rows

_TRIAL_ROWS = 128  # the starts are compared on this many of the newest rows, then only the winner sees them all
_TRIAL_STEPS = 8
_FINAL_STEPS = 12
_POLISH_STEPS = 5
_JITTER = 1e-8


def log_likelihood(kernel: Kernel, theta: Theta, rows: Rows, y: Floats) -> float:
    """Return log p(y | rows, theta), or −inf where the covariance is singular."""
    value, _ = Likelihood(kernel, rows, y)(pack(kernel, theta))
    return value


def fit(kernel: Kernel, rows: Rows, y: Floats, *, start: Theta | None = None, priors: Priors | None = None) -> Theta:
    """Return the parameters that maximise the posterior: marginal likelihood times priors.

    Args:
        kernel: which parts there are to learn.
        rows: n rows, in any order.
        y: what they observed, standardised, n.
        start: the parameters learned an interval ago, when there are any: a warm start beside the cold one.
        priors: see `Priors`.

    Returns:
        The best of the starts. Without rows, the mean of the priors.

    Examples:
        >>> rows = Rows(np.array([[0.1], [0.9]]), np.array([1.0, 1.0]), np.zeros(2), np.ones(2))
        >>> 0 < fit(Kernel((False,)), rows, np.array([1.0, -1.0])).omega < 1
        True
    """
    priors = priors or Priors()
    means, deviations = priors.vectors(kernel)
    if len(rows) == 0:
        return unpack(kernel, means)
    newest = np.argsort(-rows.t, kind="stable")[:_TRIAL_ROWS]
    newer = _Penalised(Likelihood(kernel, rows[newest], y[newest]), means, deviations)
    tries = [newer.minimise(z, _TRIAL_STEPS) for z in _starts(kernel, means, deviations, start)]
    z, _ = min(tries, key=lambda found: found[1])
    z, _ = newer.minimise(z, _FINAL_STEPS)
    if len(rows) > len(newest):
        whole = _Penalised(Likelihood(kernel, rows, y), means, deviations)
        z, _ = whole.minimise(z, _POLISH_STEPS)
    return unpack(kernel, z)


def _starts(kernel: Kernel, means: Floats, deviations: Floats, start: Theta | None) -> list[Floats]:
    # Marginal likelihoods of few rows have two peaks: what cannot be predicted is noise, or it has changed since.
    restless = means.copy()
    if kernel.omega is None:
        restless[where(kernel, "omega")] = math.log(-math.log1p(-0.7))
    else:
        restless[where(kernel, "lengthscales")] -= math.log(3.0)
    if start is not None and len(start.lengthscales) == kernel.n_numeric:
        warm = np.clip(pack(kernel, start), means - 3 * deviations, means + 3 * deviations)
        return [warm, means, restless]
    return [means, restless]


@dataclass(frozen=True)
class Likelihood:
    """The log marginal likelihood of z and its gradient, with all that does not depend on z computed once."""

    kernel: Kernel
    rows: Rows
    y: Floats
    x: Floats = field(init=False)
    gaps: Floats = field(init=False)
    noise: Floats = field(init=False)
    carried: Floats | None = field(init=False)
    agree: Floats | None = field(init=False)

    def __post_init__(self) -> None:
        kernel, rows = self.kernel, self.rows
        choice = any(kernel.is_choice)
        gaps = np.abs(rows.t[:, None] - rows.t[None, :])
        precomputed = {
            "x": np.ascontiguousarray(kernel.numeric(rows.u)),
            "gaps": gaps,
            "noise": np.diag(rows.noisy),
            "carried": np.outer(rows.before, rows.before) if kernel.carried else None,
            "agree": kernel.agreement(rows.u, rows.u) if choice else None,
        }
        for name, value in precomputed.items():
            object.__setattr__(self, name, value)

    def __call__(self, z: Floats) -> tuple[float, Floats]:
        """Return log p(y) and its gradient in z; (−inf, zeros) where the covariance is singular."""
        kernel, n = self.kernel, len(self.y)
        theta = unpack(kernel, z)
        parts = self._parts(theta)
        K = np.multiply(self.noise, theta.noise)
        K += parts.signal
        if self.carried is not None:
            K += self.carried
        K.flat[:: n + 1] += _JITTER * theta.signal
        L = cholesky(K)
        if L is None:
            return -math.inf, np.zeros_like(z)
        half = solve_lower(L, self.y)
        alpha = solve_lower(L, half, transposed=True)
        value = -0.5 * float(half @ half) - float(np.log(np.diagonal(L)).sum()) - 0.5 * n * math.log(2 * math.pi)

        # W stands for ααᵀ − K⁻¹ in sums against symmetric matrices: the triangle that LAPACK returns, taken twice.
        lower = inverse_lower(L).T
        W = np.outer(alpha, alpha)
        diagonal = np.diagonal(lower).copy()
        lower *= 2.0
        W -= lower
        W.flat[:: n + 1] += diagonal
        return value, self._gradient(theta, parts, W)

    def _parts(self, theta: Theta) -> "_Parts":
        a = self.x / np.array(theta.lengthscales)
        half_norms = 0.5 * np.einsum("ij,ij->i", a, a)
        ones = np.ones(len(a))
        # −½|a_i − a_j|² as one matrix product. One exponential serves space and time unless there are Choices.
        k_x = np.column_stack([a, half_norms, ones]) @ np.column_stack([a, -ones, -half_norms]).T
        decay = np.multiply(self.gaps, -theta.rate)
        decay += math.log(theta.signal)
        if self.agree is None:
            k_x += decay
            return _Parts(a, k_x, decay, np.exp(k_x, out=k_x))
        np.exp(k_x, out=k_x)
        np.exp(decay, out=decay)
        signal = decay * (blend(theta.mix, k_x, self.agree) if self.kernel.n_numeric else self.agree)
        return _Parts(a, k_x, decay, signal)

    def _gradient(self, theta: Theta, parts: "_Parts", W: Floats) -> Floats:
        kernel, a = self.kernel, parts.a
        G = W * parts.signal
        # The jitter grows with s², so its share of the diagonal belongs to the signal.
        of: dict[str, float | list[float]] = {
            "signal": 0.5 * float(G.sum()) + 0.5 * _JITTER * theta.signal * float(np.trace(W)),
            "noise": 0.5 * theta.noise * float(np.vdot(W, self.noise)),
        }
        if kernel.n_numeric:
            H = G if self.agree is None else W * parts.decay * parts.k_x * self._sum_share(theta)
            along = a**2
            sums = H.sum(axis=1) @ along + H.sum(axis=0) @ along - 2.0 * np.einsum("ij,ij->j", a, H @ a)
            of["lengthscales"] = (0.5 * sums).tolist()
        if kernel.omega is None:
            of["omega"] = -0.5 * theta.rate * float(np.vdot(G, self.gaps))
        if kernel.mixed:
            assert self.agree is not None
            change = parts.k_x * self.agree - 0.5 * (parts.k_x + self.agree)
            of["mix"] = 0.5 * theta.mix * (1.0 - theta.mix) * float(np.vdot(W * parts.decay, change))
        return in_order(kernel, of)

    def _sum_share(self, theta: Theta) -> Floats | float:
        """Return d k_h / d k_x."""
        if not self.kernel.mixed or self.agree is None:
            return 1.0
        return (1.0 - theta.mix) * 0.5 + theta.mix * self.agree


@dataclass(frozen=True)
class _Parts:
    """What the covariance is made of at one z; matrices are n x n.

    Args:
        a: numeric coordinates in lengthscales, n x d.
        k_x: the kernel over them; where there is no Choice, the same as signal.
        decay: s² times what time does to the signal; its logarithm where there is no Choice.
        signal: all of k.
    """

    a: Floats
    k_x: Floats
    decay: Floats
    signal: Floats


@dataclass(frozen=True)
class _Penalised:
    """Minus the log posterior of z, for a minimiser."""

    likelihood: Likelihood
    means: Floats
    deviations: Floats

    def __call__(self, z: Floats) -> tuple[float, Floats]:
        value, gradient = self.likelihood(z)
        if math.isinf(value):
            return 1e25, gradient
        off = (z - self.means) / self.deviations
        return 0.5 * float(off @ off) - value, off / self.deviations - gradient

    def minimise(self, z: Floats, steps: int) -> tuple[Floats, float]:
        """Return the best z within `steps` steps of L-BFGS-B from z, and its value."""
        from scipy.optimize import fmin_l_bfgs_b

        # Six deviations of the prior: far beyond what weak priors let through, but no overflow can happen inside.
        low, high = self.means - 6 * self.deviations, self.means + 6 * self.deviations
        bounds = list(zip(low, high, strict=True))
        found, value, _ = fmin_l_bfgs_b(self, z, bounds=bounds, maxiter=steps, maxfun=steps + 3, pgtol=1e-3, factr=1e9)
        return np.asarray(found), float(value)
