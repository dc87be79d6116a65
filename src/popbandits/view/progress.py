"""What shows the progress of a run, where this process is: in a terminal, in a notebook, or elsewhere."""

import sys

from popbandits.run import Callback
from popbandits.view._lines import Lines
from popbandits.view._notebook import NotebookTable, in_notebook


def shown() -> list[Callback]:
    """Return what shows progress here.

    It is a live table in a terminal, a compact one in a notebook, and plain lines elsewhere or where rich, which draws
    the table, is not installed.
    """
    if in_notebook():
        return [NotebookTable()]
    if sys.stdout is not None and sys.stdout.isatty():
        try:
            from rich.console import Console

            from popbandits.view._live import Live
        except ModuleNotFoundError:
            return [Lines(sys.stdout)]
        console = Console()
        return [Lines(sys.stdout) if console.is_dumb_terminal else Live(console)]
    return [] if sys.stdout is None else [Lines(sys.stdout)]
