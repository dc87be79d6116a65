"""Choosing the next hparams from what the GP believes: how bold to be, what to maximise, how to fill a batch."""

from popbandits.bandit._acquisition import Acquisition, ExpectedImprovement, UpperConfidenceBound
from popbandits.bandit._batch import Request, choose_batch
from popbandits.bandit._beta import paper_beta, theorem_beta
from popbandits.bandit._maximise import Box, maximise, sweep_box

__all__ = [
    "Acquisition",
    "Box",
    "ExpectedImprovement",
    "Request",
    "UpperConfidenceBound",
    "choose_batch",
    "maximise",
    "paper_beta",
    "sweep_box",
    "theorem_beta",
]
