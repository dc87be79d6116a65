"""Train a population of models once and learn the schedule of their hyperparameters in that one run."""

import importlib
from typing import TYPE_CHECKING

from popbandits._errors import (
    BoundsError,
    ChoiceError,
    DataError,
    HparamsError,
    OptionError,
    OutOfTurnError,
    PopbanditsError,
    ReportError,
    RunError,
    ScoreError,
    SpaceError,
    StorageError,
    TrainableError,
    TrainingFailedError,
    UnknownAgentError,
)
from popbandits._version import __version__ as __version__
from popbandits.population import Decision, Population, Report, Stop, Train
from popbandits.space import Choice, Float, Int, Space
from popbandits.strategies import ASHA, PB2, PBT, BayesOpt, RandomSearch

if TYPE_CHECKING:
    from popbandits.run import (
        Callback,
        Inline,
        Processes,
        Ray,
        Run,
        Trainable,
        Vectorised,
        check_trainable,
        functional,
        load,
        load_state,
        replay,
        resume,
        tune,
    )

__all__ = [
    "ASHA",
    "PB2",
    "PBT",
    "BayesOpt",
    "BoundsError",
    "Callback",
    "Choice",
    "ChoiceError",
    "DataError",
    "Decision",
    "Float",
    "HparamsError",
    "Inline",
    "Int",
    "OptionError",
    "OutOfTurnError",
    "PopbanditsError",
    "Population",
    "Processes",
    "RandomSearch",
    "Ray",
    "Report",
    "ReportError",
    "Run",
    "RunError",
    "ScoreError",
    "Space",
    "SpaceError",
    "Stop",
    "StorageError",
    "Train",
    "Trainable",
    "TrainableError",
    "TrainingFailedError",
    "UnknownAgentError",
    "Vectorised",
    "check_trainable",
    "functional",
    "load",
    "load_state",
    "replay",
    "resume",
    "tune",
]


def __dir__() -> list[str]:
    """Return the public names, also of what is not imported yet."""
    return __all__


def __getattr__(name: str) -> object:
    """Import the engine when it is first asked for: whoever uses the core alone need not wait for it."""
    if name not in __all__:
        raise AttributeError(f"module 'popbandits' has no attribute {name!r}")
    return getattr(importlib.import_module("popbandits.run"), name)
