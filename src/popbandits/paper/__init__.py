"""The paper's experiments: each table as a definition that can be run, resumed and shown."""

from popbandits.paper._cells import METHODS, PAPER, TASKS, Cell, cells
from popbandits.paper._results import Result, read_results, run_cell

__all__ = ["METHODS", "PAPER", "TASKS", "Cell", "Result", "cells", "read_results", "run_cell"]
