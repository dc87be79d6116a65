"""What a run is started with, and the JSON it is kept as."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from popbandits._errors import OptionError, PopbanditsError, RunError
from popbandits._types import Hparams
from popbandits.population import Event, Population, Strategy
from popbandits.run._entries import MOST_INTERVALS, check_length
from popbandits.run._target import Target
from popbandits.space import Space, space_from_json, space_to_json
from popbandits.strategies import describe_strategy, restore_strategy

MOST_AGENTS = 100_000
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
        config: the user's own settings, which the trainable is made with beside its seed; JSON values.
        initial: the hparams that the first agents start with.
        warm: whether agents start from a checkpoint that the run was given, instead of fresh weights.
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
    config: Mapping[str, Any] = field(default_factory=dict)
    initial: Sequence[Hparams] = ()
    warm: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "config", checked_config(self.config))
        for name in ("size", "intervals", "seed"):
            value = getattr(self, name)
            if isinstance(value, np.integer):
                object.__setattr__(self, name, int(value))
        check_length(self.intervals)
        if isinstance(self.size, int) and self.size > MOST_AGENTS:
            raise OptionError(f"a run has at most {MOST_AGENTS:,} agents, but got {self.size:,}")
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
        options = {name: getattr(self, name) for name in ("size", "intervals", "seed", "sync", "initial")}
        # The events are in the log: a second copy would make a long run large.
        return Population.restore(self.space, self.strategy, events, keep_events=False, **options)

    def to_json(self) -> dict[str, Any]:
        """Return the settings as plain JSON."""
        plain = {
            name: getattr(self, name) for name in ("size", "intervals", "seed", "sync", "metric", "mode", "retries")
        }
        given = {"config": dict(self.config), "initial": list(self.initial), "warm": self.warm}
        plain |= {name: value for name, value in given.items() if value}
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
            plain["initial"] = tuple(plain.get("initial", ()))
            _check_kept(plain, body["target"])
            return Settings(
                target=Target(body["target"]["module"], tuple(body["target"]["names"])),
                space=space_from_json(json.dumps(body["space"])),
                strategy=restore_strategy(body["strategy"]),
                **plain,
            )
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError, PopbanditsError) as error:
            raise RunError(f"the settings of the run cannot be read: {type(error).__name__}: {error!s:.300}") from error


def checked_config(given: Any) -> dict[str, Any]:
    """Return the user's own settings, if they can be kept as JSON.

    Raises:
        OptionError: when they cannot.
    """
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise OptionError(f"config is a dict of names and JSON values, but got {_briefly(given)}")
    if "seed" in given:
        raise OptionError("config cannot set 'seed': every agent is made with a seed of its own; give seed= to tune")
    for name, value in given.items():
        try:
            kept = json.loads(json.dumps(value, allow_nan=False))
            fits = bool(kept == value)
        except (TypeError, ValueError, RecursionError):
            fits = False
        if not fits:
            raise OptionError(
                f"config holds JSON values (texts, numbers, true, false, null, lists and dicts of them), "
                f"but {name!r} is {_briefly(value)}"
            )
    return dict(given)


def _briefly(value: Any) -> str:
    """Return a value as text for a sentence; its type where it is too deep or too large to be written."""
    try:
        return f"{value!r:.200}"
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} that is too deep or too large to be written"


def _check_kept(plain: Mapping[str, Any], target: Mapping[str, Any]) -> None:
    """Refuse numbers and names that no run can have: a folder may come from anywhere, and memory is taken for them."""
    most = {"size": MOST_AGENTS, "intervals": MOST_INTERVALS, "seed": 2**128, "retries": 2**31}
    for name, bound in most.items():
        if type(plain.get(name, 0)) is not int or not 0 <= plain.get(name, 0) <= bound:
            raise ValueError(f"{name} is {plain[name]!r:.50}")
    names = target["names"]
    if type(target["module"]) is not str or not names or not all(type(name) is str for name in names):
        raise ValueError("its trainable has no name")
    if type(plain.get("sync", True)) is not bool or type(plain.get("warm", False)) is not bool:
        raise ValueError("what must be true or false is neither")
