"""Named places where a test may end the process, as a power cut would.

POPBANDITS_FAILPOINT="name:3" ends the process with SIGKILL the third time it passes `name`. Unset, nothing happens.
"""

import os
import signal

_WANTED = os.environ.get("POPBANDITS_FAILPOINT")
_passed: dict[str, int] = {}


def failpoint(name: str) -> None:
    """End the process here if the environment asks for it."""
    if not _WANTED:
        return
    point, _, count = _WANTED.partition(":")
    if point == name:
        _passed[name] = _passed.get(name, 0) + 1
        if _passed[name] == int(count or 1):
            os.kill(os.getpid(), signal.SIGKILL)
