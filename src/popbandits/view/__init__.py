"""What people see of a run: live progress in the terminal, figures, the report."""

from popbandits.view._beliefs import told
from popbandits.view._format import number, pairs, text
from popbandits.view._png import write_png
from popbandits.view._progress import Lines, Live
from popbandits.view._report import comparison, report

__all__ = ["Lines", "Live", "comparison", "number", "pairs", "report", "text", "told", "write_png"]
