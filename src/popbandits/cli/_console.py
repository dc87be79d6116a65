"""Where tables are printed: as wide as the terminal, or wide enough for a file."""

import sys

from rich.console import Console


def console() -> Console:
    """Return the console of standard output."""
    return Console() if sys.stdout.isatty() else Console(width=200)
