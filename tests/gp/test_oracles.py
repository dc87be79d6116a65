"""The GP's numbers against another library's, finite differences, and fits from scratch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from popbandits._types import Floats
from popbandits.gp import Kernel, Posterior, Rows, Theta, log_likelihood, pack, unpack
from popbandits.gp._fit import Likelihood
from tests.gp._data import draw, random_rows, random_theta

KERNELS = [
    Kernel((False, False)),
    Kernel((False,)),
    Kernel((False, False, False), carried=True),
    Kernel((False, True, False), carried=True),
    Kernel((True, True)),
    Kernel((False, True), omega=0.3),
]
seeds = st.integers(0, 10**6)


@given(seeds, st.integers(1, 5), st.integers(1, 4), st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_posterior_and_marginal_likelihood_equal_scikit_learns(
    seed: int, dim: int, agents: int, intervals: int
) -> None:
    rng = np.random.default_rng(seed)
    kernel = Kernel((False,) * dim)
    theta = random_theta(rng, kernel)
    rows = random_rows(rng, agents, intervals, kernel.is_choice)
    y = rng.standard_normal(len(rows))
    endless = [np.inf] * dim
    peer = GaussianProcessRegressor(
        ConstantKernel(theta.signal)
        * RBF([*theta.lengthscales, np.inf])
        * Matern([*endless, 1 / theta.rate], nu=0.5)  # exp(−|t − t'| · rate)
        + WhiteKernel(theta.noise),
        alpha=0.0,
        optimizer=None,
    )
    peer.fit(np.column_stack([rows.u, rows.t]), y)
    new = rng.random((7, dim))
    mean, deviation = _given(kernel, theta, rows, y).mean_and_deviation(new, intervals + 1.0)
    peer_mean, peer_deviation = peer.predict(np.column_stack([new, np.full(7, intervals + 1.0)]), return_std=True)
    np.testing.assert_allclose(mean, peer_mean, atol=1e-8)
    np.testing.assert_allclose(deviation**2, peer_deviation**2 - theta.noise, atol=1e-8)
    jitter = 1e-8 * theta.signal  # that of our likelihood
    likelihood = _log_density(kernel.observed(theta, rows) + jitter * np.eye(len(rows)), y)
    assert log_likelihood(kernel, theta, rows, y) == pytest.approx(likelihood, abs=1e-8)
    exact = _log_density(kernel.observed(theta, rows), y)
    assert exact == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@given(seed=seeds, agents=st.integers(1, 4), intervals=st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_likelihood_gradient_equals_finite_differences(kernel: Kernel, seed: int, agents: int, intervals: int) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, agents, intervals, kernel.is_choice)
    likelihood = Likelihood(kernel, rows, rng.standard_normal(len(rows)))
    z = pack(kernel, random_theta(rng, kernel))
    _, gradient = likelihood(z)
    step = 1e-5
    for i, e in enumerate(np.eye(len(z))):
        slope = (likelihood(z + step * e)[0] - likelihood(z - step * e)[0]) / (2 * step)
        assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@given(seed=seeds, agents=st.integers(1, 4), intervals=st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_posterior_gradients_equal_finite_differences(kernel: Kernel, seed: int, agents: int, intervals: int) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, agents, intervals, kernel.is_choice)
    posterior = _given(kernel, random_theta(rng, kernel), rows, rng.standard_normal(len(rows)))
    posterior = posterior.while_training(_pending(rng, rows, 2))
    u = random_rows(rng, 3, 1, kernel.is_choice).u
    t = intervals + 1.0
    mean, deviation, d_mean, d_deviation = posterior.gradients(u, t)
    np.testing.assert_allclose((mean, deviation), posterior.mean_and_deviation(u, t))
    step = 1e-6
    for j, choice in enumerate(kernel.is_choice):
        if choice:
            assert not d_mean[:, j].any()
            continue
        off = step * np.eye(u.shape[1])[j]
        up, down = posterior.mean_and_deviation(u + off, t), posterior.mean_and_deviation(u - off, t)
        np.testing.assert_allclose(d_mean[:, j], (up[0] - down[0]) / (2 * step), atol=1e-5)
        np.testing.assert_allclose(d_deviation[:, j], (up[1] - down[1]) / (2 * step), atol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@given(seed=seeds, agents=st.integers(1, 4), intervals=st.integers(1, 5), pending=st.integers(1, 6))
@settings(max_examples=15, deadline=None)
def test_conditioning_on_training_agents_equals_a_fit_from_scratch(
    kernel: Kernel, seed: int, agents: int, intervals: int, pending: int
) -> None:
    rng = np.random.default_rng(seed)
    theta = random_theta(rng, kernel)
    rows = random_rows(rng, agents, intervals, kernel.is_choice)
    y = rng.standard_normal(len(rows))
    waiting = _pending(rng, rows, pending)
    new = random_rows(rng, 5, 1, kernel.is_choice).u
    one_by_one = _given(kernel, theta, rows, y)
    before = one_by_one.mean_and_deviation(new, intervals + 1.0)
    for i in range(pending):
        one_by_one = one_by_one.while_training(waiting[[i]])
    mean, deviation = one_by_one.mean_and_deviation(new, intervals + 1.0)
    scratch = _given(kernel, theta, rows.joined(waiting), np.append(y, rng.standard_normal(pending)))
    np.testing.assert_allclose(deviation, scratch.mean_and_deviation(new, intervals + 1.0)[1], atol=1e-8)
    np.testing.assert_allclose(mean, before[0], atol=1e-12)
    assert np.all(deviation <= before[1] + 1e-9)


def test_what_is_carried_over_is_a_line_in_the_score_before() -> None:
    """With an unknown share of the score before, the posterior is that of a GP beside a linear regression."""
    rng = np.random.default_rng(3)
    rows = random_rows(rng, 4, 8, (False,), noisier=True)
    kernel, theta = Kernel((False,), carried=True), Theta(1.0, (0.3,), 0.1, 0.05)
    plain = Kernel((False,)).observed(theta, rows)
    np.testing.assert_allclose(kernel.observed(theta, rows), plain + np.outer(rows.before, rows.before), atol=1e-12)
    y = 0.8 * rows.before + np.sin(6 * rows.u[:, 0])
    new = np.linspace(0, 1, 9)[:, None]
    aware = _given(kernel, theta, rows, y).mean(new, 8.0)
    blind = _given(Kernel((False,)), theta, rows, y).mean(new, 8.0)
    truth = np.sin(6 * new[:, 0])
    assert np.abs(aware - truth).mean() < 0.5 * np.abs(blind - truth).mean()


def test_a_noisier_row_counts_less() -> None:
    rows = Rows(np.full((2, 1), 0.5), np.ones(2), np.zeros(2), np.array([1.0, 10.0]))
    mean = _given(Kernel((False,)), Theta(1.0, (0.3,), 0.1, 0.5), rows, np.array([1.0, -1.0])).mean(rows.u[:1], 1.0)
    assert mean[0] > 0.2


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_pack_and_unpack_are_inverse(kernel: Kernel) -> None:
    theta = random_theta(np.random.default_rng(0), kernel)
    back = unpack(kernel, pack(kernel, theta))
    np.testing.assert_allclose(pack(kernel, back), pack(kernel, theta), rtol=1e-12)


def test_omega_zero_is_gp_ucb_and_omega_one_forgets_at_once() -> None:
    rng = np.random.default_rng(0)
    rows = random_rows(rng, 4, 5, (False,))
    y = rng.standard_normal(len(rows))
    new = rng.random((6, 1))
    timeless = Rows.plain(rows.u, np.ones(len(rows)))

    def at(omega: float, data: Rows) -> tuple[np.ndarray, np.ndarray]:
        kernel = Kernel((False,), omega=omega)
        return _given(kernel, Theta(1.0, (0.3,), omega, 0.1), data, y).mean_and_deviation(new, 6.0)

    np.testing.assert_allclose(at(0.0, rows), at(0.0, timeless), atol=1e-12)
    mean, deviation = at(1.0, rows)
    np.testing.assert_allclose(mean, 0.0, atol=1e-12)
    np.testing.assert_allclose(deviation, 1.0, atol=1e-12)


def _log_density(K: Floats, y: Floats) -> float:
    """The log-density of y under N(0, K), by the textbook."""
    _, log_det = np.linalg.slogdet(K)
    return float(-0.5 * y @ np.linalg.solve(K, y) - 0.5 * log_det - 0.5 * len(y) * np.log(2 * np.pi))


def _given(kernel: Kernel, theta: Theta, rows: Rows, y: np.ndarray) -> Posterior:
    posterior = Posterior.given(kernel, theta, rows, y)
    assert posterior is not None
    return posterior


def _pending(rng: np.random.Generator, rows: Rows, n: int) -> Rows:
    """Rows one interval on, each from some score."""
    u = rng.permutation(np.repeat(rows.u, n, axis=0))[:n]
    return Rows(u, np.full(n, rows.t.max() + 1), rng.standard_normal(n), np.ones(n))


def test_the_model_draws_what_it_believes() -> None:
    """The helper that other tests rely on: draws have the covariance they claim."""
    rng = np.random.default_rng(1)
    kernel = Kernel((False,), carried=True)
    theta = Theta(1.0, (0.3,), 0.2, 0.2, 0.5)
    rows = random_rows(rng, 3, 2, (False,))
    drawn = np.array([draw(rng, kernel, theta, rows) for _ in range(20000)])
    np.testing.assert_allclose(np.cov(drawn.T), kernel.observed(theta, rows), atol=0.08)
