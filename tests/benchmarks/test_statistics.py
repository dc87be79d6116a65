import numpy as np
import pytest
from scipy import stats

from benchmarks._statistics import (
    aggregate_estimate,
    improvement,
    improvement_estimate,
    interquartile_mean,
    mean_estimate,
)


@pytest.mark.parametrize("n", [4, 8, 20, 100])
def test_the_interquartile_mean_is_scipys_trimmed_mean(n: int) -> None:
    values = np.random.default_rng(n).standard_normal((3, n))
    np.testing.assert_allclose(interquartile_mean(values), stats.trim_mean(values, 0.25, axis=1))


def test_where_a_quarter_is_no_whole_number_parts_of_runs_count() -> None:
    assert interquartile_mean(np.array([0.0, 1.0, 2.0])) == pytest.approx((0.25 * 0 + 1 + 0.25 * 2) / 1.5)
    assert interquartile_mean(np.array([7.0])) == 7.0


def test_the_probability_of_improvement_is_mann_whitneys() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = rng.integers(0, 6, 30).astype(float), rng.integers(0, 5, 30).astype(float)
    u = stats.mannwhitneyu(ours, theirs).statistic
    assert improvement(ours, theirs) == pytest.approx(u / 900)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    held = 0
    for seed in range(100):
        found = mean_estimate(rng.standard_normal(40), seed=seed)
        held += found.low <= 0 <= found.high
    assert 86 <= held <= 100


def test_methods_are_compared_seed_by_seed() -> None:
    rng = np.random.default_rng(2)
    common, small = 10 * rng.standard_normal(50), 0.1 * rng.standard_normal(50)
    apart = improvement_estimate({"task": (common + 0.5 + small, common)})
    alone = improvement_estimate({"task": (common + 0.5 + small, rng.permutation(common))})
    assert apart.high - apart.low < 0.3 * (alone.high - alone.low)


def test_the_same_method_twice_is_no_improvement() -> None:
    values = np.random.default_rng(3).standard_normal(20)
    found = improvement_estimate({"a": (values, values), "b": (values, values)})
    assert found.value == pytest.approx(0.5)
    assert found.low <= 0.5 <= found.high


def test_tasks_with_more_seeds_do_not_draw_seeds_of_others() -> None:
    found = aggregate_estimate({"low": np.zeros(10), "high": np.ones(10)})
    assert (found.value, found.low, found.high) == (0.5, 0.5, 0.5)
