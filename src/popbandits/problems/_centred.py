"""What some problems share: a hidden centre in the cube, near which an interval makes most progress."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from popbandits._random import generator
from popbandits._types import Floats, Hparams
from popbandits.space import Float, Space


@dataclass(frozen=True)
class Centred:
    """A cube with a centre; a problem adds what progress does to weights and score.

    Args:
        dim: the number of hyperparameters.
        seed: of the centre.
    """

    dim: int = 2
    seed: int = 0

    @cached_property
    def space(self) -> Space:
        return Space({f"x{j}": Float(0.0, 1.0) for j in range(self.dim)})

    @cached_property
    def centre(self) -> Floats:
        """Where progress is fastest."""
        return generator(self.seed, type(self).__name__.lower()).random(self.dim)

    def progress(self, hparams: Hparams) -> float:
        """Return the progress of an interval: 1 at the centre, and less the further away."""
        width = 0.2 * math.sqrt(self.dim)
        return math.exp(-0.5 * float(((self.space.encode(hparams) - self.centre) ** 2).sum()) / width**2)

    def references(self, intervals: int) -> Mapping[str, Sequence[Hparams]]:
        return {"best constant": [self.space.decode(self.centre)] * intervals}
