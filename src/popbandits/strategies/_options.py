"""Strategies by name, for the command line and for settings in files."""

import difflib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from popbandits._errors import OptionError
from popbandits.population import Strategy
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

_BEFORE: dict[str, dict[str, Any]] = {"pb2": {"fading_gains": False}}
"""What strategies did before there was an option for it: what a description without the option means."""


def make_strategy(name: str, **options: Any) -> Strategy:
    """Return the strategy of that name.

    Args:
        name: pb2, pb2-paper, pbt, uniform (copy weights, draw hparams at random), random, asha or bayes.
        options: the strategy's own.

    Raises:
        OptionError: for an unknown name or option.

    Examples:
        >>> make_strategy("pbt", quantile=0.2).quantile
        0.2
    """
    if name not in _BY_NAME:
        close = difflib.get_close_matches(name, _BY_NAME, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise OptionError(f"a strategy is one of {', '.join(_BY_NAME)}, but got {name!r}{hint}")
    strategy: Strategy = _BY_NAME[name](**options)
    return strategy


def restore_strategy(described: Mapping[str, Any]) -> Strategy:
    """Return the strategy that `describe_strategy` described, today or before it had all of today's options.

    Raises:
        OptionError: for an unknown name or option.
    """
    name = str(described["name"])
    return make_strategy(name, **_BEFORE.get(name, {}) | dict(described["options"]))


def describe_strategy(strategy: Strategy) -> dict[str, Any]:
    """Return the name and all options of a strategy, as plain JSON for `restore_strategy`.

    Raises:
        OptionError: for a strategy that is not one of ours.
    """
    names = {PB2: "pb2", PBT: "pbt", RandomSearch: "random", ASHA: "asha", BayesOpt: "bayes", FixedSchedule: "fixed"}
    if type(strategy) not in names:
        raise OptionError(f"a run keeps the name of its strategy, but {type(strategy).__name__} has none")
    given: Any = strategy
    return {"name": names[type(strategy)], "options": asdict(given)}
