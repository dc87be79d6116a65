"""What the episodes of an agent tell: the score of an interval, its error, and the paper's measure beside them.

The score of an interval is the mean return of the episodes that ended in it. Episodes of earlier intervals do not
count, and neither do those of a donor: a copy begins its episodes anew, so every episode that ends is its own.

When fewer than FEW episodes end in an interval, its mean would tell little. The trainer then plays every episode that
is running to its end, without learning, and those returns count too. The steps of it are no training steps.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

FEW = 5
"""Episodes of an interval below which the trainer plays on."""


class Judgement(NamedTuple):
    """What a model is worth on episodes or data that chose nothing.

    Args:
        score: the mean.
        error: the standard error of that mean.
        over: how many episodes or examples it is the mean of.
    """

    score: float
    error: float
    over: int


class Episodes:
    """The returns of episodes as they end.

    Args:
        last: the returns of the last 100 episodes that these weights have played, through all donors.
    """

    def __init__(self, last: Iterable[float] = ()) -> None:
        self.last: deque[float] = deque(last, maxlen=100)
        self.interval: list[float] = []
        """The returns of the episodes that ended in this interval."""

    def add(self, value: float) -> None:
        """Note the return of an episode that has ended."""
        self.last.append(value)
        self.interval.append(value)

    @property
    def few(self) -> bool:
        """Whether too few have ended to score the interval by."""
        return len(self.interval) < FEW

    def metrics(self) -> dict[str, float]:
        """Return the score, its standard error, the mean of the last 100 episodes, and how many the score is of.

        One episode alone has no error.
        """
        metrics = {"score": float(np.mean(self.interval)), "last_100": float(np.mean(self.last))}
        if len(self.interval) > 1:
            metrics["score_error"] = mean_and_error(self.interval).error
        return metrics | {"episodes": float(len(self.interval))}


def mean_and_error(values: Iterable[float]) -> Judgement:
    """Return the mean of two values or more, and its standard error.

    Examples:
        >>> mean_and_error([1.0, 3.0])
        Judgement(score=2.0, error=1.0, over=2)
    """
    found = np.array(list(values), dtype=float)
    return Judgement(float(found.mean()), float(found.std(ddof=1) / len(found) ** 0.5), len(found))


def play(envs: Any, act: Callable[[Any], Any], each: int) -> list[float]:
    """Return the returns of the first `each` episodes of every environment.

    To take the first so many that end, of whatever environment, would favour short episodes.

    Args:
        envs: EnvPool's, just made.
        act: from observations to actions.
        each: episodes of one environment.
    """
    now, _ = envs.reset()
    count = len(now)
    so_far, left, over = np.zeros(count), np.full(count, each), np.zeros(count, bool)
    returns: list[float] = []
    while left.any():
        now, reward, terminated, truncated, _ = envs.step(act(now))
        so_far += reward * ~over  # EnvPool spends the step after an episode's end on the reset
        over = terminated | truncated
        for i in np.flatnonzero(over):
            if left[i]:
                returns.append(float(so_far[i]))
                left[i] -= 1
            so_far[i] = 0.0
    return returns
