"""The paper's experiments: each a definition that can be run, resumed and shown."""

from popbandits.paper._cells import Cell, cells
from popbandits.paper._experiments import EXPERIMENTS, METHODS, REVISIONS, Experiment
from popbandits.paper._figures import draw
from popbandits.paper._results import Result, is_done, of_today, read_results, run_cell
from popbandits.paper._tables import EARLIER, Row, rows, summary

__all__ = [
    "EARLIER",
    "EXPERIMENTS",
    "METHODS",
    "REVISIONS",
    "Cell",
    "Experiment",
    "Result",
    "Row",
    "cells",
    "draw",
    "is_done",
    "of_today",
    "read_results",
    "rows",
    "run_cell",
    "summary",
]
