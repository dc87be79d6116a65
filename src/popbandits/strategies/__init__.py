"""Strategies: one file each. Each is a frozen set of options that turns a view of the population into actions."""

from popbandits.strategies._asha import ASHA
from popbandits.strategies._bayes import BayesOpt
from popbandits.strategies._beliefs import Beliefs, beliefs
from popbandits.strategies._fixed import FixedSchedule
from popbandits.strategies._options import describe_strategy, make_strategy, restore_strategy
from popbandits.strategies._pb2 import PB2, believed
from popbandits.strategies._pbt import PBT
from popbandits.strategies._random_search import RandomSearch

__all__ = [
    "ASHA",
    "PB2",
    "PBT",
    "BayesOpt",
    "Beliefs",
    "FixedSchedule",
    "RandomSearch",
    "beliefs",
    "believed",
    "describe_strategy",
    "make_strategy",
    "restore_strategy",
]
