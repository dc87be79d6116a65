"""Whether what was learned still holds."""

import numpy as np
import pytest

from popbandits._types import Floats
from popbandits.gp import Kernel, Rows, Theta, surprise

KERNEL, THETA = Kernel((False,), fading=True), Theta(1.0, (0.3,), 0.02, 0.02)


def rows_of(intervals: int, agents: int = 4) -> Rows:
    """Agents that keep their places, the newest interval first."""
    u = np.tile(np.linspace(0.2, 0.8, agents), intervals)[:, None]
    t = np.repeat(np.arange(intervals, 0, -1.0), agents)
    ids = np.arange(len(t))
    return Rows(u, t, ids, np.full(len(t), -1))


def gains(rows: Rows, peak: float) -> Floats:
    out: Floats = 2.0 * np.exp(-20 * (rows.u[:, 0] - peak) ** 2) - 1.0
    return out


def test_what_goes_on_as_before_is_no_surprise_and_what_turns_over_is() -> None:
    rows = rows_of(6)
    y = gains(rows, 0.2)
    assert surprise(KERNEL, THETA, rows, y) < -1
    turned = np.where(rows.t == 6, gains(rows, 0.8), y)
    assert surprise(KERNEL, THETA, rows, turned) > 10


def test_one_interval_alone_cannot_surprise() -> None:
    rows = rows_of(1)
    assert surprise(KERNEL, THETA, rows, gains(rows, 0.2)) == 0.0
    assert surprise(KERNEL, THETA, rows[:0], np.zeros(0)) == 0.0


def test_it_is_the_difference_of_two_log_densities() -> None:
    rows = rows_of(3, 2)
    rng = np.random.default_rng(0)
    y = rng.standard_normal(6)
    K = KERNEL.observed(THETA, rows, rows)

    def density(mean: Floats, cov: Floats, at: Floats) -> float:
        off = at - mean
        return float(-0.5 * off @ np.linalg.solve(cov, off) - 0.5 * np.linalg.slogdet(cov)[1])

    gain = K[:2, 2:] @ np.linalg.inv(K[2:, 2:])
    given = density(gain @ y[2:], K[:2, :2] - gain @ K[2:, :2], y[:2])
    assert surprise(KERNEL, THETA, rows, y) == pytest.approx(density(np.zeros(2), K[:2, :2], y[:2]) - given)
