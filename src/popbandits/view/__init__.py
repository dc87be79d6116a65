"""What people see of a run: its progress, figures, the report."""

from popbandits.view._beliefs import told
from popbandits.view._csv import as_csv, schedule_as_csv, write_csv
from popbandits.view._explained import standings, told_effects
from popbandits.view._format import number, pairs, text, with_error
from popbandits.view._notebook import run_html
from popbandits.view._png import write_png
from popbandits.view._report import comparison, report

__all__ = [
    "as_csv",
    "comparison",
    "number",
    "pairs",
    "report",
    "run_html",
    "schedule_as_csv",
    "standings",
    "text",
    "told",
    "told_effects",
    "with_error",
    "write_csv",
    "write_png",
]
