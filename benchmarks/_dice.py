"""PB2's copies with hparams from a die: what is left of PB2 without its model. The control of the study."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from popbandits._random import generator
from popbandits._types import Floats
from popbandits.population import View
from popbandits.strategies import PB2
from popbandits.strategies._copying import next_interval


@dataclass(frozen=True)
class DicePB2(PB2):
    """PB2 that copies whom PB2 would and draws hparams uniformly."""

    def _choose(
        self,
        view: View,
        explorers: list[int],
        scouts: list[int],
        sources: Mapping[int, int | None],
        keepers: list[int],
    ) -> tuple[Floats, dict[str, Any]]:
        rngs = [generator(view.seed, "dice", next_interval(view, agent), agent) for agent in (*explorers, *scouts)]
        return np.array([view.space.encode(view.space.sample(rng)) for rng in rngs]), {}
