"""Statistics of few runs, as rliable recommends them, with methods compared seed by seed.

    interquartile mean              the mean of the middle half: outliers on either side do not count
    probability of improvement      how often a run of one method beats a run of another; a tie is half a win

Intervals are percentiles of a bootstrap over seeds. Where two methods are compared, the same seeds are drawn for both:
they began with the same weights and hparams, so what a seed has in common cancels.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from popbandits._types import Floats

DRAWS = 2000


@dataclass(frozen=True)
class Estimate:
    """A number and its 95 % interval."""

    value: float
    low: float
    high: float


def interquartile_mean(values: Floats) -> Any:
    """Return the mean of the middle half along the last axis; parts of runs count where a quarter is no whole number.

    Examples:
        >>> float(interquartile_mean(np.array([0.0, 1.0, 2.0, 100.0])))
        1.5
    """
    ordered = np.sort(values, axis=-1)
    n = ordered.shape[-1]
    edges = np.arange(n + 1)
    inside = np.clip(np.minimum(edges[1:], 0.75 * n) - np.maximum(edges[:-1], 0.25 * n), 0, 1)
    counted = np.where(inside > 0, ordered, 0.0)  # a run that diverged is minus infinity, and must not count as nan
    return counted @ inside / inside.sum()


def improvement(ours: Floats, theirs: Floats) -> Any:
    """Return the probability that a run of ours beats one of theirs, over all pairs, along the last axis.

    Examples:
        >>> float(improvement(np.array([1.0, 2.0]), np.array([0.0, 2.0])))
        0.625
    """
    a, b = ours[..., :, None], theirs[..., None, :]
    return ((a > b) + 0.5 * (a == b)).mean((-2, -1))


def mean_estimate(values: Floats, of: Callable[[Floats], Any] = interquartile_mean, seed: int = 0) -> Estimate:
    """Return a statistic of one method's runs with its interval."""
    drawn = values[_draws(len(values), np.random.default_rng(seed))]
    return _estimate(float(of(values)), of(drawn))


def improvement_estimate(pairs: Mapping[str, tuple[Floats, Floats]], seed: int = 0) -> Estimate:
    """Return the probability of improvement, the mean over tasks, with its interval.

    Args:
        pairs: for each task the runs of ours and of theirs, seed by seed.
        seed: of the bootstrap.
    """
    rng = np.random.default_rng(seed)
    values, drawn = [], []
    for ours, theirs in pairs.values():
        chosen = _draws(len(ours), rng)
        values.append(float(improvement(ours, theirs)))
        drawn.append(improvement(ours[chosen], theirs[chosen]))
    return _estimate(float(np.mean(values)), np.mean(drawn, axis=0))


def aggregate_estimate(tasks: Mapping[str, Floats], seed: int = 0) -> Estimate:
    """Return the interquartile mean over the normalised runs of all tasks; seeds are drawn within each task."""
    rng = np.random.default_rng(seed)
    drawn = [values[_draws(len(values), rng)] for values in tasks.values()]
    return _estimate(
        float(interquartile_mean(np.concatenate(list(tasks.values())))),
        interquartile_mean(np.concatenate(drawn, axis=-1)),
    )


def _draws(n: int, rng: np.random.Generator) -> Any:
    return rng.integers(0, n, (DRAWS, n))


def _estimate(value: float, drawn: Any) -> Estimate:
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Estimate(value, float(low), float(high))
