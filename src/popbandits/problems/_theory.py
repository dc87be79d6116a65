"""The theorem's setting, simulated: in every interval all B agents choose by the batch UCB, and the best one counts."""

import numpy as np

from popbandits._random import generator
from popbandits._types import Floats
from popbandits.bandit import Box, Request, UpperConfidenceBound, choose_batch, paper_beta
from popbandits.gp import Kernel, Posterior, Rows, Theta
from popbandits.problems._gp_draw import GPDraw

_NOISE = 0.1
_LENGTHSCALE = 0.3


def theory_regret(agents: int, intervals: int, omega: float, seed: int) -> Floats:
    """Return Σ_t f_t(x*_t) − max_b f_t(x_{t,b}) after each interval, for a function drawn with ω on [0, 1].

    The kernel's parameters are the true ones, as the theorem has it; the noise variance is 0.1 of the signal's.

    Args:
        agents: B.
        intervals: T.
        omega: how fast the function changes.
        seed: of the function, the noise and the sweep.
    """
    problem = GPDraw(1, omega, _LENGTHSCALE, seed)
    kernel = Kernel((False,), omega=omega)
    theta = Theta(1.0, (_LENGTHSCALE,), omega, _NOISE)
    rng = generator(seed, "theory")
    u, t, y = np.zeros((0, 1)), np.zeros(0), np.zeros(0)
    regrets = np.empty(intervals)
    for now in range(1, intervals + 1):
        rows = Rows.plain(u, t)
        posterior = Posterior.given(kernel, theta, rows, y)
        assert posterior is not None  # noise of 0.1 keeps the covariance regular
        acquisition = UpperConfidenceBound(paper_beta(now))
        everywhere = Box(float(now), np.zeros(1), np.ones(1), np.zeros((0, 1)))
        one = Request(everywhere, acquisition, rng)
        chosen = choose_batch(posterior, [one] * agents, lambda points: points)
        values = problem.f(now, chosen)
        regrets[now - 1] = problem.maximum(now) - values.max()
        u, t = np.concatenate([u, chosen]), np.append(t, np.full(agents, float(now)))
        y = np.append(y, values + np.sqrt(_NOISE) * rng.standard_normal(agents))
    return np.cumsum(regrets)
