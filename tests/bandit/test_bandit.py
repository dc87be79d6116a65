import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import popbandits as pb
from popbandits._types import Floats
from popbandits.bandit import (
    Acquisition,
    Box,
    ExpectedImprovement,
    Request,
    UpperConfidenceBound,
    choose_batch,
    maximise,
    paper_beta,
    sweep_box,
    theorem_beta,
)
from popbandits.gp import Kernel, Posterior, Rows, Theta
from tests.gp._data import draw, random_rows


def test_papers_beta_grows_with_the_interval_and_is_never_below_c1() -> None:
    assert paper_beta(1) == paper_beta(2) == 0.2
    assert paper_beta(10) == pytest.approx(0.2 + math.log(4))
    assert [paper_beta(t) for t in range(1, 50)] == sorted(paper_beta(t) for t in range(1, 50))


def test_theorems_beta_is_the_formula_and_grows() -> None:
    spread = math.pi**2 * 25 / 0.2
    expected = 2 * math.log(spread) + 4 * math.log(2 * 25 * math.sqrt(math.log(2 * spread)))
    assert theorem_beta(5, 2, delta=0.1) == pytest.approx(expected)
    assert theorem_beta(6, 2) > theorem_beta(5, 2)
    assert theorem_beta(5, 3) > theorem_beta(5, 2)


@pytest.mark.parametrize("acquisition", [UpperConfidenceBound(2.0), ExpectedImprovement(0.3)], ids=str)
@given(mean=st.floats(-3, 3), deviation=st.floats(0.05, 3))
def test_slopes_equal_finite_differences(acquisition: Acquisition, mean: float, deviation: float) -> None:
    m, s, h = np.array([mean]), np.array([deviation]), 1e-6
    by_mean, by_deviation = acquisition.slopes(m, s)
    assert by_mean[0] == pytest.approx((acquisition(m + h, s) - acquisition(m - h, s))[0] / (2 * h), abs=1e-5)
    assert by_deviation[0] == pytest.approx((acquisition(m, s + h) - acquisition(m, s - h))[0] / (2 * h), abs=1e-5)


def test_expected_improvement_equals_its_definition() -> None:
    drawn = np.random.default_rng(0).normal(0.2, 0.7, 400_000)
    expected = np.maximum(drawn - 0.5, 0).mean()
    assert ExpectedImprovement(0.5)(np.array([0.2]), np.array([0.7]))[0] == pytest.approx(expected, abs=2e-3)


@given(st.integers(0, 10**6), st.integers(1, 2), st.floats(0.1, 4))
@settings(max_examples=25, deadline=None)
@example(893012, 2, 1.5)
def test_the_maximiser_is_within_a_fiftieth_of_the_range_of_a_dense_grid(seed: int, dim: int, beta: float) -> None:
    """Nearly always it is within a thousandth; two peaks of nearly the same height can be taken for each other."""
    rng = np.random.default_rng(seed)
    posterior = _posterior(rng, (False,) * dim, lengthscale=float(rng.uniform(0.15, 0.6)))
    ucb = UpperConfidenceBound(beta)
    axis = np.linspace(0, 1, 4001 if dim == 1 else 151)
    grid = np.stack(np.meshgrid(*[axis] * dim), axis=-1).reshape(-1, dim)
    values = ucb(*posterior.mean_and_deviation(grid, 6.0))
    found = _maximise(posterior, ucb, dim, rng)
    assert ucb(*posterior.mean_and_deviation(found[None], 6.0))[0] >= values.max() - 1e-3 - 0.02 * np.ptp(values)


def test_the_maximiser_stays_in_its_box_and_tries_every_choice() -> None:
    rng = np.random.default_rng(0)
    space = pb.Space({"x": (0.0, 1.0), "c": pb.Choice("a", "b", "c"), "n": pb.Int(0, 4)})
    is_choice = tuple(space.is_choice.tolist())
    n = 30
    u = space.snap(rng.random((n, 3)))
    y = np.where(u[:, 1] == 1.0, 2.0, -1.0) - (u[:, 2] - 0.75) ** 2
    rows = Rows.plain(u, np.ones(n))
    posterior = Posterior.given(Kernel(is_choice), Theta(1.0, (0.5, 0.5), 0.01, 0.01), rows, y)
    assert posterior is not None
    box = Box(2.0, np.array([0.2, 0.0, 0.0]), np.array([0.3, 0.0, 1.0]), np.zeros((1, 3)))
    found = maximise(posterior, UpperConfidenceBound(0.0), box, sweep_box(posterior, box, space.snap, rng), space.snap)
    assert 0.2 <= found[0] <= 0.3
    assert space.decode(found)["c"] == "c"
    assert space.decode(found)["n"] == 3


def test_a_batch_spreads_out_where_one_point_would_be_chosen_again() -> None:
    rng = np.random.default_rng(2)
    posterior = _posterior(rng, (False, False), lengthscale=0.3)
    alone = [_request(seed) for seed in range(4)]
    chosen = choose_batch(posterior, alone, _as_is)
    assert len({tuple(np.round(point, 2)) for point in chosen}) == 4
    repeated = [choose_batch(posterior, [request], _as_is)[0] for request in [_request(seed) for seed in range(4)]]
    assert np.ptp(np.array(repeated), axis=0).max() < 0.05  # without the others in mind, all go to the same place


def test_a_space_without_coordinates_has_one_point() -> None:
    rows = Rows.plain(np.zeros((2, 0)), np.ones(2))
    posterior = Posterior.given(Kernel(()), Theta(1.0, (), 0.1, 0.1), rows, np.zeros(2))
    assert posterior is not None
    assert _maximise(posterior, UpperConfidenceBound(1.0), 0, np.random.default_rng(0)).shape == (0,)


def _posterior(rng: np.random.Generator, is_choice: tuple[bool, ...], lengthscale: float) -> Posterior:
    kernel = Kernel(is_choice)
    theta = Theta(1.0, (lengthscale,) * kernel.n_numeric, 0.05, 0.05)
    rows = random_rows(rng, 4, 5, is_choice)
    posterior = Posterior.given(kernel, theta, rows, draw(rng, kernel, theta, rows))
    assert posterior is not None
    return posterior


def _maximise(posterior: Posterior, acquisition: Acquisition, dim: int, rng: np.random.Generator) -> Floats:
    box = Box(6.0, np.zeros(dim), np.ones(dim), posterior.rows.u[:2])
    return maximise(posterior, acquisition, box, sweep_box(posterior, box, _as_is, rng), _as_is)


def _request(seed: int) -> Request:
    box = Box(6.0, np.zeros(2), np.ones(2), np.zeros((0, 2)))
    return Request(box, acquisition=UpperConfidenceBound(2.0), rng=np.random.default_rng(seed))


def _as_is(u: Floats) -> Floats:
    return u
