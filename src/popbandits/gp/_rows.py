"""Rows: what the GP is conditioned on, or what it will be (agents that are still training)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from popbandits._types import Floats, Ints


@dataclass(frozen=True)
class Rows:
    """n intervals of training, without their outcome.

    Args:
        u: where the hparams lie in the unit cube, n x D.
        t: the number of the interval, n. Never rescaled.
        after: an id of the score reported at the end of the interval, n. No two rows share one.
        before: the id of the score the interval began with, n: the agent's own or, after a copy, its donor's. -1 for
            fresh weights.
    """

    u: Floats
    t: Floats
    after: Ints
    before: Ints

    def __len__(self) -> int:
        return len(self.t)

    def another(self, u: Floats, t: float, before: int) -> "Rows":
        """Return one more row, not yet joined: an interval at the point u, shape (D,), with an id of its own."""
        unused = max(int(self.after.max(initial=-1)), int(self.before.max(initial=-1))) + 1
        return Rows(u[None, :], np.array([t]), np.array([unused]), np.array([before]))

    def __getitem__(self, index: Any) -> "Rows":
        return Rows(self.u[index], self.t[index], self.after[index], self.before[index])

    def joined(self, other: "Rows") -> "Rows":
        """Return these rows and then the others."""
        return Rows(
            np.concatenate([self.u, other.u]),
            np.concatenate([self.t, other.t]),
            np.concatenate([self.after, other.after]),
            np.concatenate([self.before, other.before]),
        )
