"""Population Based Training: copy the best, perturb their hparams."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from popbandits._errors import OptionError
from popbandits._random import generator
from popbandits._types import Hparams
from popbandits.population import Action, Decision, Stop, Train, View
from popbandits.space import Choice, Float, Int, Space
from popbandits.strategies._copying import copy_step, keep, next_interval, random_hparams, spent, start_at_random
from popbandits.strategies._options import check_number, options


@options
@dataclass(frozen=True)
class PBT:
    """Replace the worst agents by copies of the best, with perturbed hparams.

    Args:
        quantile: the share of agents replaced after each interval, and the share they copy from.
        resample_probability: with which a hyperparameter is drawn anew instead of perturbed. At 1.0 this is *uniform
            copying*: selection does all the work, and it is hard to beat.
        factors: one of these multiplies a number; a Choice moves to a neighbour.

    Raises:
        OptionError: for an option that does not exist or cannot have its value.
    """

    quantile: float = 0.25
    resample_probability: float = 0.25
    factors: tuple[float, float] = (0.8, 1.2)

    def __post_init__(self) -> None:
        check_number(self, "quantile", 0.0, 0.5)
        check_number(self, "resample_probability", 0.0, 1.0)
        factors = tuple(self.factors) if isinstance(self.factors, (tuple, list)) else ()
        if len(factors) != 2 or not all(isinstance(f, (int, float)) and 0 < f < np.inf for f in factors):
            raise OptionError(f"factors must be two positive numbers, but got {self.factors!r}")
        object.__setattr__(self, "factors", factors)

    def start(self, view: View) -> Decision:
        return start_at_random(view)

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        live = tuple(agent for agent in due if not spent(view, agent))
        sources = copy_step(view, live, self.quantile).sources if live else {}
        return Decision(tuple(self._action(view, agent, sources.get(agent)) for agent in due))

    def _action(self, view: View, agent: int, source: int | None) -> Action:
        if spent(view, agent):
            return Stop(agent)
        if source == agent:
            return keep(view, agent)
        interval = next_interval(view, agent) - 1
        if source is None:
            return Train(agent, random_hparams(view, agent, interval))
        rng = generator(view.seed, "perturb", interval, agent)
        donated = view.history.hparams(view.last[source])
        return Train(agent, self._explored(view.space, donated, rng), source)

    def _explored(self, space: Space, hparams: Hparams, rng: np.random.Generator) -> Hparams:
        flat = space.flat(hparams)
        for name in space.names:
            param = space.params[name]
            if rng.random() < self.resample_probability:
                flat[name] = param.sample(rng)
            else:
                flat[name] = _perturbed(param, flat[name], self.factors[int(rng.integers(2))], rng)
        return space.nested(flat)


def _perturbed(param: Any, value: Any, factor: float, rng: np.random.Generator) -> Any:
    if isinstance(param, Choice):
        at = param.index(value) + (1 if rng.integers(2) else -1)
        return param.values[min(len(param.values) - 1, max(0, at))]
    if isinstance(param, Float):
        return min(param.high, max(param.low, value * factor))
    assert isinstance(param, Int)
    moved = round(value * factor)
    if moved == value:  # small numbers would never move
        moved = value + (1 if factor > 1 else -1)
    return min(param.high, max(param.low, moved))
