"""Where things are printed: tables as wide as the terminal or wide enough for a file, and the progress of a run."""

import sys

from rich.console import Console

from popbandits.run import Callback
from popbandits.view import Lines, Live


def console() -> Console:
    """Return the console of standard output."""
    return Console() if sys.stdout.isatty() else Console(width=200)


def progress(quiet: bool) -> list[Callback]:
    """Return what shows a run's progress: a live table in a terminal, plain lines elsewhere, or nothing."""
    if quiet:
        return []
    return [Live(Console())] if sys.stdout.isatty() else [Lines(sys.stdout)]
