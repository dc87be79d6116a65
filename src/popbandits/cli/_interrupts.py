"""What is said when a signal stops a command, and with which code it then exits."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

_INTERRUPTED = 130  # what shells make of Ctrl-C


@contextmanager
def interruptible(what_goes_on: Callable[[], str | None]) -> Iterator[None]:
    """Say what goes on with the work when a signal stops it, and exit as shells expect.

    Args:
        what_goes_on: asked when it happens; None when nothing had begun.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as end:
        goes_on = what_goes_on()
        if goes_on is not None:
            print(f"popbandits: interrupted; everything is written, and {goes_on} goes on", file=sys.stderr)
        code = end.code if isinstance(end, SystemExit) else _INTERRUPTED
        raise typer.Exit(code if isinstance(code, int) else 1) from None
