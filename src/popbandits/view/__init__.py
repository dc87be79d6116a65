"""What people see of a run: live progress in the terminal."""

from popbandits.view._beliefs import told
from popbandits.view._format import number, pairs, text
from popbandits.view._progress import Lines, Live

__all__ = ["Lines", "Live", "number", "pairs", "text", "told"]
