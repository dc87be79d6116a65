"""The `popbandits` command.

Exit codes: 0 all is well · 1 a check found something · 2 what was given cannot be used · 3 the run's folder cannot be
used · 4 the disk is full or fails · 5 training failed · 130 and 143 interrupted, and can be resumed.
"""

import errno
import io
import os
import sys

from popbandits._errors import PopbanditsError, RunError, StorageError, TrainingFailedError

_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EBADF)  # what standard output can fail with


def main() -> None:
    """Run the command; an error of ours is one sentence, without a traceback unless --debug is given."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    sys.path.append(os.getcwd())  # `module:Class` may name a file of the current folder; what is installed comes first
    try:
        from popbandits.cli._app import app
    except ModuleNotFoundError as missing:
        if debug or (missing.name or "").startswith("popbandits"):
            raise
        told = f"popbandits: the command needs {missing.name}; install it with: pip install 'popbandits[cli]'"
        print(told, file=sys.stderr)
        sys.exit(2)
    for stream in (sys.stdout, sys.stderr):
        # Terminals that know ASCII only, and halves of characters in texts of users, must not end a command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            app(arguments)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        if debug or error.errno not in _OUTPUT:
            raise
        # Nobody reads any more, or the disk that output goes to is full. Python would try once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        print(f"popbandits: what was to be printed could not be written: {error.strerror}", file=sys.stderr)
        sys.exit(4)
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
