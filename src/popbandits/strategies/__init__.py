"""Strategies: one file each. Each is a frozen set of options that turns a view of the population into a decision.

To write one of your own, import the contract (`Strategy`, `View`, `Decision`, `Train`, `Stop`) and the pieces that ours
are made of (`start_at_random`, `copy_step`, `keep`, `spent` and others) from here.
"""

from popbandits._random import generator
from popbandits.population import Action, Decision, Stop, Strategy, Train, View
from popbandits.strategies._asha import ASHA
from popbandits.strategies._bayes import BayesOpt
from popbandits.strategies._beliefs import Beliefs
from popbandits.strategies._copying import (
    CopyStep,
    copy_step,
    draw_donor,
    finite_scores,
    keep,
    near,
    next_age,
    next_interval,
    random_hparams,
    spent,
    start_at_random,
)
from popbandits.strategies._explained import Effect, Explanation, Place
from popbandits.strategies._fixed import FixedSchedule
from popbandits.strategies._kept import Elsewhere, Former, describe_strategy, make_strategy, restore_strategy
from popbandits.strategies._notes import PB2Notes
from popbandits.strategies._options import check_number, options
from popbandits.strategies._paper import PaperPB2
from popbandits.strategies._pb2 import PB2
from popbandits.strategies._pbt import PBT
from popbandits.strategies._random_search import RandomSearch
from popbandits.strategies._succession import Move, Rules, Succession, learned

__all__ = [
    "ASHA",
    "PB2",
    "PBT",
    "Action",
    "BayesOpt",
    "Beliefs",
    "CopyStep",
    "Decision",
    "Effect",
    "Elsewhere",
    "Explanation",
    "FixedSchedule",
    "Former",
    "Move",
    "PB2Notes",
    "PaperPB2",
    "Place",
    "RandomSearch",
    "Rules",
    "Stop",
    "Strategy",
    "Succession",
    "Train",
    "View",
    "check_number",
    "copy_step",
    "describe_strategy",
    "draw_donor",
    "finite_scores",
    "generator",
    "keep",
    "learned",
    "make_strategy",
    "near",
    "next_age",
    "next_interval",
    "options",
    "random_hparams",
    "restore_strategy",
    "spent",
    "start_at_random",
]
