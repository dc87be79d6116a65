import numpy as np
import pytest

from popbandits._random import quasi_random
from popbandits.bandit.theory import information_gain, largest_gains, regret_bounds
from popbandits.gp import Kernel, Theta
from popbandits.problems import GPDraw, theory_regret

KERNEL = Kernel((False,), omega=0.0)
THETA = Theta(1.0, (0.3,), 0.0, 0.1)
POINTS = quasi_random(200, 1, np.random.default_rng(0))


def test_greedy_gains_are_the_information_gain_of_the_points_they_chose() -> None:
    gains = largest_gains(KERNEL, THETA, POINTS, 30) * (1 - 1 / np.e)
    assert gains[0] == pytest.approx(information_gain(np.array([[1.0]]), 0.1))
    everywhere = information_gain(KERNEL.signal(THETA, POINTS, np.zeros(200), POINTS, 0.0), 0.1)
    assert np.all(np.diff(gains) > 0)
    assert np.all(np.diff(gains, 2) < 1e-9)  # each point tells less than the one before
    assert gains[-1] < everywhere


def test_gains_bound_those_of_random_points() -> None:
    rng = np.random.default_rng(1)
    gains = largest_gains(KERNEL, THETA, POINTS, 20)
    for _ in range(20):
        x = rng.random((20, 1))
        assert information_gain(KERNEL.signal(THETA, x, np.zeros(20), x, 0.0), 0.1) <= gains[-1]


def test_the_best_block_is_long_when_nothing_changes_and_one_interval_when_all_does() -> None:
    gains = largest_gains(KERNEL, THETA, POINTS, 80)
    still = regret_bounds(20, 4, omega=0.0, noise=0.1, gains=gains, dim=1)
    moving = regret_bounds(20, 4, omega=1.0, noise=0.1, gains=gains, dim=1)
    assert still.argmin() >= 10
    assert moving.argmin() == 0
    assert moving.min() > still.min()


def test_the_bound_falls_with_the_population() -> None:
    gains = largest_gains(KERNEL, THETA, POINTS, 320)
    bounds = [regret_bounds(20, B, omega=0.0, noise=0.1, gains=gains, dim=1).min() for B in (1, 2, 4, 8, 16)]
    assert bounds == sorted(bounds, reverse=True)


@pytest.mark.slow
class TestSimulation:
    """PB2's bandit on functions drawn from the theory's own process."""

    def test_regret_is_under_the_bound_and_falls_with_the_population(self) -> None:
        regret = {B: np.mean([theory_regret(B, 30, 0.01, seed)[-1] for seed in range(6)]) for B in (1, 4, 8)}
        assert regret[1] > regret[4] > regret[8]
        gains = largest_gains(KERNEL, THETA, POINTS, 240)
        for B, value in regret.items():
            assert value < regret_bounds(30, B, omega=0.01, noise=0.1, gains=gains, dim=1).min()
            assert value < 0.5 * np.mean([_by_chance(B, 30, 0.01, seed) for seed in range(6)])  # the bound is loose


def _by_chance(agents: int, intervals: int, omega: float, seed: int) -> float:
    """The regret of agents that choose uniformly."""
    problem, rng = GPDraw(1, omega, 0.3, seed), np.random.default_rng(seed)
    off = [problem.maximum(t) - problem.f(t, rng.random((agents, 1))).max() for t in range(1, intervals + 1)]
    return float(np.sum(off))


@pytest.mark.slow
class TestGrowth:
    def test_regret_is_sublinear_for_small_omega_and_linear_for_large(self) -> None:
        def late_share(omega: float) -> float:
            curves = np.mean([theory_regret(2, 60, omega, seed) for seed in range(8)], axis=0)
            return float((curves[-1] - curves[29]) / curves[-1])  # 1/2 when regret grows linearly

        assert late_share(0.001) < 0.35
        assert late_share(0.9) == pytest.approx(0.5, abs=0.1)
