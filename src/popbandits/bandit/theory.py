"""The regret bound of the paper's theorem, as code.

    R_TB = Σ_t f_t(x*_t) − max_b f_t(x_{t,b})  ≤  √(C₁ (T/B) β_T (T/(ÑB) + 1) (γ_ÑB + σ⁻² (ÑB)³ ω)) + 2

    T  intervals          B  agents            Ñ  block length, 1 … T (the bound holds for each; the least is the bound)
    σ² noise variance     ω  forgetting        γ  largest information gain of so many points, kernel without time
    C₁ = 32 / log(1 + σ⁻²)

The statement of the theorem drops two factors that its proof has, 1/B and σ⁻², and has log(1 + σ²) in C₁ where lemma 6
derives log(1 + σ⁻²). This is what the proof derives.
"""

import math

import numpy as np

from popbandits._types import Floats
from popbandits.bandit._beta import theorem_beta
from popbandits.gp import Kernel, Theta


def information_gain(K: Floats, noise: float) -> float:
    """Return ½ log det(I + K/σ²): what noisy observations at these points tell about f.

    Args:
        K: the prior covariance of f at n points, n x n.
        noise: σ², the variance of an observation.

    Examples:
        >>> round(information_gain(np.eye(2), 1.0), 4) == round(math.log(2), 4)
        True
    """
    _, log_det = np.linalg.slogdet(np.eye(len(K)) + K / noise)
    return 0.5 * float(log_det)


def largest_gains(kernel: Kernel, theta: Theta, candidates: Floats, most: int) -> Floats:
    """Return the information gain of 1, 2, … `most` points chosen greedily for it. Length `most`.

    Greedy choice reaches 1 − 1/e of the largest possible gain, so dividing by that bounds γ from above.

    Args:
        kernel, theta: the prior; time plays no part.
        candidates: the points to choose from, m x D.
        most: how many to choose; a point may be chosen again.
    """
    noise = theta.noise
    once = np.zeros(len(candidates))
    covariance = kernel.signal(theta, candidates, once, candidates, once)
    variance = np.diagonal(covariance).copy()
    factors = np.zeros((0, len(candidates)))
    gains = np.zeros(most)
    total = 0.0
    for i in range(most):
        pick = int(np.argmax(variance))
        total += 0.5 * math.log1p(variance[pick] / noise)
        gains[i] = total
        row = (covariance[pick] - factors[:, pick] @ factors) / math.sqrt(variance[pick] + noise)
        factors = np.vstack([factors, row])
        variance = np.maximum(variance - row**2, 0.0)
    return gains / (1.0 - 1.0 / math.e)


def regret_bounds(
    intervals: int, agents: int, *, omega: float, noise: float, gains: Floats, dim: int, delta: float = 0.1
) -> Floats:
    """Return the bound on the regret after T intervals for every block length Ñ = 1 … T. Length T.

    Args:
        intervals, agents: T and B.
        omega: ω of the function.
        noise: σ², in units of the signal's variance.
        gains: γ_1, γ_2, …, at least T · B of them.
        dim: the number of hyperparameters.
        delta: the probability with which the bound may fail.

    Examples:
        >>> gains = np.log1p(np.arange(1, 41.0))
        >>> bounds = regret_bounds(10, 4, omega=1.0, noise=0.1, gains=gains, dim=1)
        >>> int(bounds.argmin()) + 1  # everything changes: blocks of one interval
        1
    """
    blocks = np.arange(1, intervals + 1)
    points = blocks * agents
    constant = 32.0 / math.log1p(1.0 / noise)
    beta = theorem_beta(intervals, dim, delta=delta)
    gain = gains[points - 1] + points.astype(float) ** 3 * omega / noise
    inside = constant * (intervals / agents) * beta * (intervals / points + 1.0) * gain
    bounds: Floats = np.sqrt(inside) + 2.0
    return bounds
