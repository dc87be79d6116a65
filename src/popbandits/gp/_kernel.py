"""The kernel of section 4.1 of the paper, with Choice.

k((t,x), (t',x')) = s² · k_h(x, x') · (1−ω)^{|t−t'|/2}

    k_x = exp(−½ Σ_j (x_j − x'_j)² / ℓ_j²)            over numeric coordinates
    k_c = the share of Choice coordinates that agree   over Choice coordinates
    k_h = k_x, or k_c, or with both kinds (1−λ)(k_x + k_c)/2 + λ k_x k_c     (CoCaBO, scaled to k_h(x, x) = 1)

    s²  signal   variance of what hparams explain
    ℓ   lengthscales, one for each numeric coordinate, in units of the cube
    ω   omega    how fast the function forgets: 0 never (GP-UCB), 1 every interval is new
    λ   mix      product (1) or sum (0) of the two kinds

and the covariance of what is observed, y = h(t) + ρ b + f_t(x) + noise:

    K = k + b b' + σ² w [same row]

    b            the score that the interval began with, in the units of y; there when the kernel has `carried`
    ρ ~ N(0, 1)  how much of that score is carried over
    w            how many times the noise a row has, see `Rows`
"""

import math
from dataclasses import dataclass

import numpy as np

from popbandits._types import Floats
from popbandits.gp._rows import Rows


@dataclass(frozen=True)
class Theta:
    """The kernel's learned parameters; the module's first lines say what each is."""

    signal: float
    lengthscales: tuple[float, ...]
    omega: float
    noise: float
    mix: float = 0.5

    @property
    def rate(self) -> float:
        """The time kernel as exp(−rate · |t − t'|)."""
        return -0.5 * math.log1p(-self.omega) if self.omega < 1 else math.inf


@dataclass(frozen=True)
class Kernel:
    """Which parts the kernel has.

    Args:
        is_choice: for each coordinate of the cube, whether it belongs to a Choice.
        omega: None to learn ω, or the value it is fixed at.
        carried: whether what is observed are scores, of which a share is carried over from the score before.
    """

    is_choice: tuple[bool, ...]
    omega: float | None = None
    carried: bool = False

    @property
    def n_numeric(self) -> int:
        """The number of lengthscales."""
        return sum(not choice for choice in self.is_choice)

    @property
    def mixed(self) -> bool:
        """Whether there are coordinates of both kinds, and so a mix to learn."""
        return any(self.is_choice) and self.n_numeric > 0

    def numeric(self, u: Floats) -> Floats:
        """Return the numeric coordinates, n x d."""
        return u[:, [not choice for choice in self.is_choice]] if any(self.is_choice) else u

    def agreement(self, u: Floats, v: Floats) -> Floats:
        """Return k_c, n x m: the share of Choice coordinates that agree."""
        chosen = list(self.is_choice)
        a, b = u[:, chosen], v[:, chosen]
        total = np.zeros((len(u), len(v)))
        for j in range(a.shape[1]):
            total += a[:, j, None] == b[None, :, j]
        total /= a.shape[1]
        return total

    def signal(self, theta: Theta, u: Floats, t: Floats, v: Floats, r: Floats | float) -> Floats:
        """Return k between the points (t, u) and (r, v), n x m; r is one interval for all of v, or one for each."""
        k = self.numeric_part(theta, u, v)
        if any(self.is_choice):
            agree = self.agreement(u, v)
            k = blend(theta.mix, k, agree) if self.n_numeric else agree
        gaps = np.abs(t[:, None] - np.atleast_1d(r)[None, :])
        decay = np.exp(-theta.rate * gaps) if theta.omega < 1 else (gaps == 0).astype(float)
        k *= theta.signal * decay
        return k

    def numeric_part(self, theta: Theta, u: Floats, v: Floats) -> Floats:
        """Return k_x, n x m."""
        scales = np.array(theta.lengthscales)
        a, b = self.numeric(u) / scales, self.numeric(v) / scales
        return np.exp(-0.5 * squared_distances(a, b))

    def shared(self, theta: Theta, a: Rows, b: Rows) -> Floats:
        """Return the covariance of what two sets of different rows observe, n x m."""
        K = self.signal(theta, a.u, a.t, b.u, b.t)
        if self.carried:
            K += np.outer(a.before, b.before)
        return K

    def observed(self, theta: Theta, rows: Rows) -> Floats:
        """Return the covariance of what a set of rows observes, n x n, with its noise."""
        K = self.shared(theta, rows, rows)
        K.flat[:: len(rows) + 1] += theta.noise * rows.noisy
        return K


def blend(mix: float, k_x: Floats, k_c: Floats) -> Floats:
    """Return the kernel over both kinds of coordinate: sum and product in the proportion of the mix."""
    return (1.0 - mix) * 0.5 * (k_x + k_c) + mix * k_x * k_c


def squared_distances(a: Floats, b: Floats) -> Floats:
    """Return |a_i − b_j|², n x m, by one matrix product."""
    R = a @ b.T
    R *= -2.0
    R += np.einsum("ij,ij->i", a, a)[:, None]
    R += np.einsum("ij,ij->i", b, b)[None, :]
    return np.maximum(R, 0.0, out=R)
