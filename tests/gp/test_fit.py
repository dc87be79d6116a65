import numpy as np
import pytest

from popbandits.gp import Kernel, Posterior, Priors, Rows, Theta, block_length, fit, log_likelihood, standardise
from tests.gp._data import draw, random_rows


def test_parameters_that_made_the_data_are_found_again() -> None:
    rng = np.random.default_rng(0)
    kernel = Kernel((False, False), carried=True)
    truth = Theta(1.0, (0.2, 0.6), 0.1, 0.05, 0.3)
    rows = random_rows(rng, 8, 40, kernel.is_choice)
    found = fit(kernel, rows, draw(rng, kernel, truth, rows))
    assert found.lengthscales[0] < found.lengthscales[1]
    assert 0.03 < found.omega < 0.3
    assert 0.02 < found.noise < 0.12


@pytest.mark.parametrize("omega", [0.02, 0.5])
def test_learned_omega_follows_how_fast_the_function_changes(omega: float) -> None:
    rng = np.random.default_rng(3)
    kernel = Kernel((False,))
    rows = random_rows(rng, 6, 30, kernel.is_choice)
    y = draw(rng, kernel, Theta(1.0, (0.3,), omega, 0.05), rows)
    assert fit(kernel, rows, y).omega == pytest.approx(omega, rel=0.7)


def test_fitting_raises_the_posterior_of_the_parameters_above_the_priors_mean() -> None:
    rng = np.random.default_rng(4)
    kernel = Kernel((False, True), carried=True)
    rows = random_rows(rng, 4, 10, kernel.is_choice)
    y, _ = standardise(draw(rng, kernel, Theta(1.0, (0.3,), 0.1, 0.1, 0.8), rows))
    nothing = fit(kernel, rows[:0], y[:0])
    assert log_likelihood(kernel, fit(kernel, rows, y), rows, y) > log_likelihood(kernel, nothing, rows, y)


def test_the_lengthscale_of_what_does_not_matter_is_long() -> None:
    rng = np.random.default_rng(5)
    rows = random_rows(rng, 4, 20, (False, False))
    y, _ = standardise(np.sin(6 * rows.u[:, 0]) + 0.1 * rng.standard_normal(len(rows)))
    found = fit(Kernel((False, False)), rows, y)
    assert found.lengthscales[1] > 2 * found.lengthscales[0]


def test_two_rows_are_enough() -> None:
    rows = Rows.plain(np.array([[0.1], [0.9]]), np.array([1.0, 1.0]))
    theta = fit(Kernel((False,), carried=True), rows, np.array([1.0, -1.0]))
    posterior = Posterior.given(Kernel((False,), carried=True), theta, rows, np.array([1.0, -1.0]))
    assert posterior is not None
    mean, _ = posterior.mean_and_deviation(np.array([[0.1], [0.9]]), 2.0)
    assert mean[0] > mean[1]


def test_equal_rows_and_constant_improvements_are_no_problem() -> None:
    kernel = Kernel((False, False))
    rows = Rows.plain(np.full((30, 2), 0.5), np.ones(30))
    theta = fit(kernel, rows, np.zeros(30))
    assert Posterior.given(kernel, theta, rows, np.zeros(30)) is not None


def test_a_singular_covariance_is_mended_by_the_least_jitter_that_does() -> None:
    kernel = Kernel((False,))
    rows = Rows.plain(np.full((5, 1), 0.5), np.ones(5))
    posterior = Posterior.given(kernel, Theta(1.0, (1.0,), 0.1, 1e-300), rows, np.zeros(5))
    assert posterior is not None
    assert 0 < posterior.jitter <= 1e-8


def test_a_warm_start_ends_where_the_cold_one_does() -> None:
    rng = np.random.default_rng(7)
    kernel = Kernel((False, False))
    rows = random_rows(rng, 4, 20, kernel.is_choice)
    y, _ = standardise(draw(rng, kernel, Theta(1.0, (0.3, 0.3), 0.1, 0.1), rows))
    cold = fit(kernel, rows, y)
    warm = fit(kernel, rows, y, start=cold)
    assert log_likelihood(kernel, warm, rows, y) >= log_likelihood(kernel, cold, rows, y) - 0.1


def test_without_rows_the_priors_speak() -> None:
    kernel = Kernel((False,))
    empty = random_rows(np.random.default_rng(0), 1, 1, (False,))[:0]
    theta = fit(kernel, empty, np.zeros(0), priors=Priors(noise=(np.log(0.7), 1.0)))
    assert theta.noise == pytest.approx(0.7)


class TestBlockLength:
    THETA = Theta(1.0, (0.3,), 0.01, 0.05)
    KERNEL = Kernel((False,))

    def test_all_is_kept_while_the_past_still_tells(self) -> None:
        kept = 0
        for seed in range(20):
            rng = np.random.default_rng(seed)
            rows = random_rows(rng, 4, 15, (False,))[::-1]
            kept += block_length(self.KERNEL, self.THETA, rows, draw(rng, self.KERNEL, self.THETA, rows)) == len(rows)
        assert kept >= 17

    def test_what_was_before_a_jump_is_forgotten(self) -> None:
        forgotten = 0
        for seed in range(10):
            rng = np.random.default_rng(seed)
            rows = random_rows(rng, 4, 20, (False,))[::-1]
            y = np.where(rows.t > 12, 1.0, -1.0) * np.sin(6 * rows.u[:, 0]) + 0.1 * rng.standard_normal(len(rows))
            kept = block_length(self.KERNEL, self.THETA, rows, y)
            forgotten += 8 <= kept <= 4 * 9
            assert kept % 4 == 0  # whole intervals
        assert forgotten >= 9

    def test_few_rows_are_all_kept(self) -> None:
        rows = random_rows(np.random.default_rng(0), 4, 2, (False,))[::-1]
        assert block_length(self.KERNEL, self.THETA, rows, np.zeros(8)) == 8

    def test_every_window_is_asked_about_the_same_rows(self) -> None:
        """The evidence for a window is log p(newest | rest), computed here without the shared factorisation."""
        rng = np.random.default_rng(1)
        rows = random_rows(rng, 4, 8, (False,))[::-1]
        y = np.where(rows.t > 4, 1.0, -1.0) * np.sin(6 * rows.u[:, 0])
        sizes = [12, 16, 20, 24, 28, 32]
        evidence = [
            log_likelihood(self.KERNEL, self.THETA, rows[:k], y[:k])
            - log_likelihood(self.KERNEL, self.THETA, rows[8:k], y[8:k])
            for k in sizes
        ]
        assert block_length(self.KERNEL, self.THETA, rows, y) == sizes[int(np.argmax(evidence))]


class TestStandardise:
    def test_mean_zero_deviation_one_and_the_unit_to_go_back(self) -> None:
        y = np.array([3.0, 5.0, 4.0, 6.0])
        standard, unit = standardise(y)
        assert standard.mean() == pytest.approx(0)
        assert standard.std() == pytest.approx(1)
        np.testing.assert_allclose(standard * unit + y.mean(), y)

    def test_one_wild_value_does_not_flatten_the_others(self) -> None:
        y = np.append(np.linspace(-1, 1, 20), 1e6)
        standard, _ = standardise(y)
        assert standard[19] - standard[0] > 1.0

    @pytest.mark.parametrize("y", [[], [1.0], [2.0, 2.0], [1e300, -1e300, 1e300], [0.0, 0.0, 0.0, 5.0]])
    def test_the_result_is_always_finite(self, y: list[float]) -> None:
        standard, unit = standardise(np.array(y))
        assert np.isfinite(standard).all()
        assert unit > 0
