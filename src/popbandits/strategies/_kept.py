"""Strategies by name, and the name and options that a run keeps of its strategy.

Ours have short names. Anybody else's is named by where it is imported from, `module:Class` or `file.py:Class`, and kept
as that and its options: the fields of its dataclass, as JSON.
"""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from popbandits._code import attribute, locate, parse
from popbandits._errors import OptionError
from popbandits.population import Decision, Strategy, View
from popbandits.strategies._asha import ASHA
from popbandits.strategies._bayes import BayesOpt
from popbandits.strategies._fixed import FixedSchedule
from popbandits.strategies._pb2 import PB2
from popbandits.strategies._pbt import PBT
from popbandits.strategies._random_search import RandomSearch

_BY_NAME: dict[str, Any] = {
    "pb2": PB2,
    "pb2-paper": PB2.paper,
    "pbt": PBT,
    "uniform": lambda **options: PBT(**{"resample_probability": 1.0} | options),
    "random": RandomSearch,
    "asha": ASHA,
    "bayes": BayesOpt,
    "fixed": FixedSchedule,
}
_NAMES = {PB2: "pb2", PBT: "pbt", RandomSearch: "random", ASHA: "asha", BayesOpt: "bayes", FixedSchedule: "fixed"}
_BEFORE: dict[str, dict[str, Any]] = {"pb2": {"fading_gains": False}}
"""What a description means that was written before a strategy had all of today's options."""


@dataclass(frozen=True)
class Elsewhere:
    """A strategy that is not ours, as a run keeps it. The code is imported when it has to decide, and not before.

    Args:
        name: where it is imported from: module:Class, or the path of a file and the class.
        options: what it is made with.
    """

    name: str
    options: Mapping[str, Any]

    def __str__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        return f"{self.name.rpartition(':')[2]}({given})"

    def load(self) -> Strategy:
        """Import the strategy and make it.

        Raises:
            OptionError: when it cannot be imported, is no strategy, or refuses its options.
        """
        found = parse(self.name)
        made: Any = attribute(*found, OptionError) if found is not None else None
        if not callable(getattr(made, "decide", None)):
            raise OptionError(f"{self.name} is not a strategy: there is no class of that name with a method `decide`")
        try:
            strategy: Strategy = made(**self.options)
        except TypeError as error:
            raise OptionError(f"{self.name} cannot be made with the options {dict(self.options)}: {error}") from None
        return strategy

    def start(self, view: View) -> Decision:
        return self.load().start(view)

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        return self.load().decide(view, due)


def make_strategy(name: str, **options: Any) -> Strategy:
    """Return the strategy of that name.

    Args:
        name: pb2, pb2-paper, pbt, uniform (copy weights, draw hparams at random), random, asha or bayes; or where a
            strategy of one's own is imported from, as module:Class or file.py:Class.
        options: the strategy's own.

    Raises:
        OptionError: for an unknown name or option.

    Examples:
        >>> make_strategy("pbt", quantile=0.2).quantile
        0.2
    """
    if name in _BY_NAME:
        strategy: Strategy = _BY_NAME[name](**options)
        return strategy
    if parse(name) is None:
        close = difflib.get_close_matches(name, _BY_NAME, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise OptionError(f"a strategy is one of {', '.join(_BY_NAME)} or module:Class, but got {name!r}{hint}")
    return Elsewhere(name, options).load()


def describe_strategy(strategy: Strategy) -> dict[str, Any]:
    """Return the name and all options of a strategy, as plain JSON for `restore_strategy`.

    Raises:
        OptionError: for a strategy that could not be made again from them.
    """
    if isinstance(strategy, Elsewhere):
        return {"name": strategy.name, "options": dict(strategy.options)}
    cls: Any = type(strategy)
    name = _NAMES.get(cls) or ":".join(locate(cls, OptionError))
    if not is_dataclass(strategy):
        raise OptionError(
            f"a run keeps the options of its strategy, but {cls.__name__} is no dataclass; decorate it with "
            "@dataclass(frozen=True)"
        )
    options = {part.name: getattr(strategy, part.name) for part in fields(strategy) if part.init}
    try:
        plain: dict[str, Any] = json.loads(json.dumps(options, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"a run keeps the options of its strategy as JSON, but those of {name} are not: {error}"
        ) from None
    try:
        again: Any = cls(**plain)
    except TypeError as error:
        raise OptionError(f"the strategy {name} cannot be made from its options: {error}") from None
    if again != strategy:
        unlike = next(key for key in plain if getattr(again, key) != getattr(strategy, key))
        raise OptionError(
            f"a run keeps the options of its strategy as JSON, but {unlike}={options[unlike]!r} of {name} comes back "
            f"as {getattr(again, unlike)!r}; turn it into what it was in __post_init__"
        )
    return {"name": name, "options": plain}


def restore_strategy(described: Mapping[str, Any]) -> Strategy:
    """Return the strategy that `describe_strategy` described, today or before it had all of today's options.

    One that is not ours is returned as `Elsewhere`: a run can be looked at without importing anybody's code.

    Raises:
        OptionError: for a name or an option that is unknown.
    """
    name, options = str(described["name"]), dict(described["options"])
    if name not in _BY_NAME and parse(name) is not None:
        return Elsewhere(name, options)
    return make_strategy(name, **_BEFORE.get(name, {}) | options)
