"""Strategies by name, for the command line and for settings in files."""

import difflib
from typing import Any

from popbandits._errors import OptionError
from popbandits.population import Strategy
from popbandits.strategies._asha import ASHA
from popbandits.strategies._bayes import BayesOpt
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
}


def make_strategy(name: str, **options: Any) -> Strategy:
    """Return the strategy of that name.

    Args:
        name: pb2, pb2-paper, pbt, uniform (copy weights, draw hparams at random), random, asha or bayes.
        options: the strategy's own.

    Raises:
        OptionError: for an unknown name or option.

    Example:
        >>> make_strategy("pbt", quantile=0.2).quantile
        0.2
    """
    if name not in _BY_NAME:
        close = difflib.get_close_matches(name, _BY_NAME, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise OptionError(f"a strategy is one of {', '.join(_BY_NAME)}, but got {name!r}{hint}")
    strategy: Strategy = _BY_NAME[name](**options)
    return strategy
