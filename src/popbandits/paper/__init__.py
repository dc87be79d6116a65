"""The paper's experiments: each a definition that can be run, resumed and shown."""

from popbandits.paper._cells import Cell, cells
from popbandits.paper._experiments import EXPERIMENTS, METHODS, Experiment
from popbandits.paper._figures import draw
from popbandits.paper._results import Result, of_today, read_results, run_cell

__all__ = [
    "EXPERIMENTS",
    "METHODS",
    "Cell",
    "Experiment",
    "Result",
    "cells",
    "draw",
    "of_today",
    "read_results",
    "run_cell",
]
