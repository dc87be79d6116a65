"""PB2's copies with hparams from a die: what is left of PB2 without its model. The control of the study."""

from dataclasses import dataclass

import numpy as np

from popbandits._random import generator
from popbandits._types import Floats
from popbandits.population import View
from popbandits.strategies import PB2, PB2Notes
from popbandits.strategies._copying import next_interval
from popbandits.strategies._roles import Roles


@dataclass(frozen=True)
class DicePB2(PB2):
    """PB2 that copies whom PB2 would and draws hparams uniformly."""

    def _choose(self, view: View, roles: Roles) -> tuple[Roles, Floats, PB2Notes | None]:
        rngs = [generator(view.seed, "dice", next_interval(view, agent), agent) for agent in roles.movers]
        return roles, np.array([view.space.encode(view.space.sample(rng)) for rng in rngs]), None
