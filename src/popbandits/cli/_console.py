"""Where things are printed: tables as wide as the terminal or wide enough for a file, and the progress of a run."""

import sys

from rich.console import Console

from popbandits.run import Callback
from popbandits.view.progress import shown


def console() -> Console:
    """Return the console of standard output."""
    return Console() if sys.stdout is not None and sys.stdout.isatty() else Console(width=200)


def progress(quiet: bool) -> list[Callback]:
    """Return what shows a run's progress here, or nothing."""
    return [] if quiet else shown()
