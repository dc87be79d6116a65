"""A running mean and deviation of what an agent sees, in numpy."""

from typing import Any

import numpy as np


class Normaliser:
    """A running mean and deviation, and the clipped normalised value."""

    def __init__(self, size: int) -> None:
        self.count, self.mean, self.square = 1e-4, np.zeros(size), np.ones(size) * 1e-4

    def update(self, x: Any) -> None:
        """Take in a batch, n x size; n may be 0, when every episode has just ended."""
        if len(x) == 0:
            return
        n = len(x)
        mean = np.add.reduce(x, axis=0) / n  # x.mean() spends most of its time outside the sum, once a step
        apart, off = x - mean, mean - self.mean
        total = self.count + n
        self.square += np.add.reduce(apart * apart, axis=0) + off * off * (self.count * n / total)
        self.mean += off * (n / total)
        self.count = total

    @property
    def deviation(self) -> Any:
        """The running deviation."""
        return np.sqrt(self.square / self.count) + 1e-8

    def __call__(self, x: Any) -> Any:
        """Return normalised values within ±10."""
        return np.clip((x - self.mean) / self.deviation, -10, 10).astype(np.float32)
