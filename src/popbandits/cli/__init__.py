"""The `popbandits` command.

Exit codes: 0 all is well · 1 a check found something · 2 what was given cannot be used · 3 the run's folder cannot be
used · 4 the disk is full or fails · 5 training failed · 130 and 143 interrupted, and can be resumed.
"""

import sys

from popbandits._errors import PopbanditsError, RunError, StorageError, TrainingFailedError


def main() -> None:
    """Run the command; an error of ours is one sentence, without a traceback unless --debug is given."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        from popbandits.cli._app import app
    except ModuleNotFoundError as missing:
        if debug or (missing.name or "").startswith("popbandits"):
            raise
        told = f"popbandits: the command needs {missing.name}; install it with: pip install 'popbandits[cli]'"
        print(told, file=sys.stderr)
        sys.exit(2)
    try:
        app(arguments)
    except PopbanditsError as error:
        if debug:
            raise
        from popbandits.view import text

        print(f"popbandits: {text(error)}", file=sys.stderr)
        sys.exit(_code(error))


def _code(error: PopbanditsError) -> int:
    if isinstance(error, StorageError):
        return 4
    if isinstance(error, RunError):
        return 3
    return 5 if isinstance(error, TrainingFailedError) else 2
