"""What a run is started with, and the JSON it is kept as."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from popbandits._errors import OptionError, PopbanditsError, RunError
from popbandits.population import Event, Population, Strategy
from popbandits.run._target import Target
from popbandits.space import Space, space_from_json, space_to_json
from popbandits.strategies import describe_strategy, restore_strategy

Mode: TypeAlias = Literal["max", "min"]


@dataclass(frozen=True)
class Settings:
    """Everything that decides how a run goes, but for where it is trained.

    Args:
        target: the user's code.
        space, strategy, size, intervals, seed, sync: of the population.
        metric: the name of the score among what a step returns.
        mode: "max" when a higher metric is better, "min" when a lower one is.
        retries: how often an interval that failed is tried again before the agent is given up for replacement.
    """

    target: Target
    space: Space
    strategy: Strategy
    size: int
    intervals: int
    seed: int = 0
    sync: bool = True
    metric: str = "score"
    mode: Mode = "max"
    retries: int = 2

    def __post_init__(self) -> None:
        for name in ("size", "intervals", "seed"):
            value = getattr(self, name)
            if isinstance(value, np.integer):
                object.__setattr__(self, name, int(value))
        if self.mode not in ("max", "min"):
            raise OptionError(f"mode must be 'max' or 'min', but got {self.mode!r}")
        if not isinstance(self.metric, str) or not self.metric:
            raise OptionError(f"metric must be the name of a number that step returns, but got {self.metric!r}")
        if isinstance(self.retries, bool) or not isinstance(self.retries, int) or self.retries < 0:
            raise OptionError(f"`retries >= 0` must hold, but got retries={self.retries!r}")

    def inside(self, score: float) -> float:
        """Return a score as the core has it, where higher is always better; the same way leads back."""
        return score if self.mode == "max" else -score

    def population(self, events: Iterable[Event] = ()) -> Population:
        """Return the population that lived through these events; without any, one that has not started."""
        options = {name: getattr(self, name) for name in ("size", "intervals", "seed", "sync")}
        return Population.restore(self.space, self.strategy, events, **options)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain JSON."""
        plain = {
            name: getattr(self, name) for name in ("size", "intervals", "seed", "sync", "metric", "mode", "retries")
        }
        return plain | {
            "target": {"module": self.target.module, "names": list(self.target.names)},
            "space": json.loads(space_to_json(self.space)),
            "strategy": describe_strategy(self.strategy),
        }

    @staticmethod
    def from_json(body: dict[str, Any]) -> "Settings":
        """Return the settings that were written.

        Raises:
            RunError: when they cannot be read.
        """
        try:
            plain = {key: value for key, value in body.items() if key not in ("target", "space", "strategy", "version")}
            return Settings(
                target=Target(body["target"]["module"], tuple(body["target"]["names"])),
                space=space_from_json(json.dumps(body["space"])),
                strategy=restore_strategy(body["strategy"]),
                **plain,
            )
        except (KeyError, TypeError, PopbanditsError) as error:
            raise RunError(f"the settings of the run cannot be read: {type(error).__name__}: {error}") from error
