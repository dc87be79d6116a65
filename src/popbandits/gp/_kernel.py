"""The kernel of section 4.1 of the paper, with Choice.

k((t,x), (t',x')) = s² · k_h(x, x') · (1−ω)^{|t−t'|/2} · a(t) a(t')

    k_x = exp(−½ Σ_j (x_j − x'_j)² / ℓ_j²)            over numeric coordinates
    k_c = the share of Choice coordinates that agree   over Choice coordinates
    k_h = k_x, or k_c, or with both kinds (1−λ)(k_x + k_c)/2 + λ k_x k_c     (CoCaBO, scaled to k_h(x, x) = 1)
    a   = exp(−κ t) when gains fade, else 1

    s²  signal   variance of the improvement that hparams explain
    ℓ   lengthscales, one for each numeric coordinate, in units of the cube
    ω   omega    how fast the function forgets: 0 never (GP-UCB), 1 every interval is new
    λ   mix      product (1) or sum (0) of the two kinds
    κ   fade     how fast gains fade from interval to interval; negative where they grow

and the covariance of what is observed, y = h(t) + a(t) m + f_t(x) + noise:

    K = k + s_c² [t = t'] + a(t) a(t') + σ² N

    s_c² common  an effect shared by all agents in an interval
    m ~ N(0, 1)  the level of gains, there when they fade
    N            from _noise
"""

import math
from dataclasses import dataclass

import numpy as np

from popbandits._types import Floats
from popbandits.gp._noise import noise_pattern
from popbandits.gp._rows import Rows

FADED = 20.0
"""The logarithm of a(t) is cut here, so that runs of thousands of intervals stay finite."""


@dataclass(frozen=True)
class Theta:
    """The kernel's learned parameters; the module's first lines say what each is."""

    signal: float
    lengthscales: tuple[float, ...]
    omega: float
    noise: float
    common: float = 0.0
    mix: float = 0.5
    fade: float = 0.0

    @property
    def rate(self) -> float:
        """The time kernel as exp(−rate · |t − t'|)."""
        return -0.5 * math.log1p(-self.omega) if self.omega < 1 else math.inf


@dataclass(frozen=True)
class Kernel:
    """Which parts the kernel has.

    Args:
        is_choice: for each coordinate of the cube, whether it belongs to a Choice.
        common: whether all agents share an effect in each interval.
        lineage: whether the noise is that of scores, shared along the lineage, or independent in each row.
        omega: None to learn ω, or the value it is fixed at.
        fading: whether gains fade with time, from a level that is learned; if not, improvements come in centred.
    """

    is_choice: tuple[bool, ...]
    common: bool = False
    lineage: bool = False
    omega: float | None = None
    fading: bool = False

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
        if self.fading:
            k *= amplitude(theta, t)[:, None] * amplitude(theta, r)[None, :]
        return k

    def variance(self, theta: Theta, t: float) -> float:
        """Return k of a point with itself in interval t."""
        return theta.signal * (float(amplitude(theta, t)[0]) ** 2 if self.fading else 1.0)

    def numeric_part(self, theta: Theta, u: Floats, v: Floats) -> Floats:
        """Return k_x, n x m."""
        scales = np.array(theta.lengthscales)
        a, b = self.numeric(u) / scales, self.numeric(v) / scales
        return np.exp(-0.5 * squared_distances(a, b))

    def observed(self, theta: Theta, a: Rows, b: Rows) -> Floats:
        """Return the covariance of the improvements of two sets of rows, n x m."""
        K = self.signal(theta, a.u, a.t, b.u, b.t)
        if self.common:
            K += theta.common * (a.t[:, None] == b.t[None, :])
        if self.fading:
            K += amplitude(theta, a.t)[:, None] * amplitude(theta, b.t)[None, :]
        K += theta.noise * noise_pattern(a, b, lineage=self.lineage)
        return K


def amplitude(theta: Theta, t: Floats | float) -> Floats:
    """Return a(t), the size of gains in interval t relative to the beginning, within numbers' reach. Length n."""
    faded: Floats = np.exp(-np.clip(theta.fade * np.atleast_1d(t), -FADED, FADED))
    return faded


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
