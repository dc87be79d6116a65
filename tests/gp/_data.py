"""Random rows with a lineage, as a run would produce them."""

import numpy as np

from popbandits._types import Floats
from popbandits.gp import Kernel, Rows, Theta


def random_rows(rng: np.random.Generator, agents: int, intervals: int, is_choice: tuple[bool, ...]) -> Rows:
    """Every interval each agent goes on from its own score or a random other's."""
    n = agents * intervals
    u = rng.random((n, len(is_choice)))
    chosen = list(is_choice)
    u[:, chosen] = np.round(u[:, chosen] * 2) / 2
    previous = np.arange(n) - agents
    copied = rng.integers(0, agents, n) + (np.arange(n) // agents - 1) * agents
    before = np.where(rng.random(n) < 0.3, copied, previous)
    before[:agents] = -1
    return Rows(u, 1.0 + (np.arange(n) // agents).astype(float), np.arange(n), before)


def random_theta(rng: np.random.Generator, kernel: Kernel) -> Theta:
    return Theta(
        signal=float(np.exp(rng.normal(0, 0.5))),
        lengthscales=tuple(np.exp(rng.normal(-0.5, 0.5, kernel.n_numeric)).tolist()),
        omega=float(rng.uniform(0.01, 0.9)) if kernel.omega is None else kernel.omega,
        noise=float(np.exp(rng.normal(-1, 0.5))),
        common=float(np.exp(rng.normal(-1, 0.5))) if kernel.common else 0.0,
        mix=float(rng.uniform(0.1, 0.9)) if kernel.mixed else 0.5,
        fade=float(rng.normal(0, 0.1)) if kernel.fading else 0.0,
    )


def draw(rng: np.random.Generator, kernel: Kernel, theta: Theta, rows: Rows) -> Floats:
    """Improvements from the model itself."""
    K = kernel.observed(theta, rows, rows)
    return np.linalg.cholesky(K + 1e-10 * np.eye(len(K))) @ rng.standard_normal(len(K))
