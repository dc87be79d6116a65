"""Random rows, as a run would produce them."""

import numpy as np

from popbandits._types import Floats
from popbandits.gp import Kernel, Rows, Theta


def random_rows(
    rng: np.random.Generator, agents: int, intervals: int, is_choice: tuple[bool, ...], *, noisier: bool = False
) -> Rows:
    """Every interval each agent goes on from some score; some rows are noisier than others."""
    n = agents * intervals
    u = rng.random((n, len(is_choice)))
    chosen = list(is_choice)
    u[:, chosen] = np.round(u[:, chosen] * 2) / 2
    before = rng.standard_normal(n)
    before[:agents] = 0.0
    noisy = np.where(rng.random(n) < 0.3, 4.0, 1.0) if noisier else np.ones(n)
    return Rows(u, 1.0 + (np.arange(n) // agents).astype(float), before, noisy)


def random_theta(rng: np.random.Generator, kernel: Kernel) -> Theta:
    return Theta(
        signal=float(np.exp(rng.normal(0, 0.5))),
        lengthscales=tuple(np.exp(rng.normal(-0.5, 0.5, kernel.n_numeric)).tolist()),
        omega=float(rng.uniform(0.01, 0.9)) if kernel.omega is None else kernel.omega,
        noise=float(np.exp(rng.normal(-1, 0.5))),
        mix=float(rng.uniform(0.1, 0.9)) if kernel.mixed else 0.5,
    )


def draw(rng: np.random.Generator, kernel: Kernel, theta: Theta, rows: Rows) -> Floats:
    """Improvements from the model itself."""
    K = kernel.observed(theta, rows)
    return np.linalg.cholesky(K + 1e-10 * np.eye(len(K))) @ rng.standard_normal(len(K))
