"""β_t: how many (squared) deviations of optimism the upper confidence bound adds, by interval."""

import math


def paper_beta(t: float, *, c1: float = 0.2, c2: float = 0.4) -> float:
    """Return β_t = c1 + max(0, log(c2 · t)), the paper's experiments' schedule; t counts intervals from 1.

    Examples:
        >>> paper_beta(1)
        0.2
    """
    return c1 + max(0.0, math.log(c2 * t))


def theorem_beta(t: float, dim: int, *, delta: float = 0.1, a: float = 1.0, b: float = 1.0, r: float = 1.0) -> float:
    """Return the theorem's β_t = 2 log(π²t²/2δ) + 2d log(r d b t² √log(d a π² t²/2δ)).

    Args:
        t: the interval, from 1.
        dim: d, the number of hyperparameters.
        delta: δ, the probability with which the regret bound may fail.
        a, b: constants of the Lipschitz assumption.
        r: the side of the domain [0, r]^d.
    """
    spread = math.pi**2 * t**2 / (2 * delta)
    inner = math.sqrt(max(1e-300, math.log(max(1.0 + 1e-12, dim * a * spread))))
    return 2 * math.log(spread) + 2 * dim * math.log(max(1.0, r * dim * b * t**2 * inner))
