"""Train a population of models once and learn the schedule of their hyperparameters in that one run."""

from popbandits._errors import (
    BoundsError,
    ChoiceError,
    HparamsError,
    OptionError,
    OutOfTurnError,
    PopbanditsError,
    ReportError,
    ScoreError,
    SpaceError,
    UnknownAgentError,
)
from popbandits.population import Action, Decision, Population, Report
from popbandits.space import Choice, Float, Int, Space
from popbandits.strategies import ASHA, PB2, PBT, BayesOpt, RandomSearch

__version__ = "0.1.0"

__all__ = [
    "ASHA",
    "PB2",
    "PBT",
    "Action",
    "BayesOpt",
    "BoundsError",
    "Choice",
    "ChoiceError",
    "Decision",
    "Float",
    "HparamsError",
    "Int",
    "OptionError",
    "OutOfTurnError",
    "PopbanditsError",
    "Population",
    "RandomSearch",
    "Report",
    "ReportError",
    "ScoreError",
    "Space",
    "SpaceError",
    "UnknownAgentError",
]
