"""Rows: what the GP is conditioned on, or what it will be (agents that are still training)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from popbandits._types import Floats


@dataclass(frozen=True)
class Rows:
    """n intervals of training, without their outcome.

    Args:
        u: where the hparams lie in the unit cube, n x D.
        t: the number of the interval, n. Never rescaled.
        before: the score the interval began with, in the units of what is observed, n; 0 for fresh weights.
        noisy: how many times the noise the row has, n; 1 for most.
    """

    u: Floats
    t: Floats
    before: Floats
    noisy: Floats

    @staticmethod
    def plain(u: Floats, t: Floats) -> "Rows":
        """Return rows of which only the points (n x D) and the intervals (n) matter."""
        return Rows(u, t, np.zeros(len(t)), np.ones(len(t)))

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, index: Any) -> "Rows":
        return Rows(self.u[index], self.t[index], self.before[index], self.noisy[index])

    def joined(self, other: "Rows") -> "Rows":
        """Return these rows and then the others."""
        return Rows(
            np.concatenate([self.u, other.u]),
            np.concatenate([self.t, other.t]),
            np.concatenate([self.before, other.before]),
            np.concatenate([self.noisy, other.noisy]),
        )
