"""Everything that a worker has started, wherever it is now: found by a mark in its environment.

A group of processes is not enough. User code may start a program in a session of its own, which leaves the group, and
when its parent ends, nothing leads from the worker to it any more. Its environment still has the worker's mark.
"""

import contextlib
import os
import signal
from pathlib import Path

VARIABLE = "POPBANDITS_WORKER"
_ROUNDS = 5  # what is ended may have started something while we looked


def end_marked(mark: str) -> None:
    """End all processes that have a mark, but for this one."""
    for _ in range(_ROUNDS):
        found = _marked(mark)
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return


def _marked(mark: str) -> list[int]:
    wanted = f"{VARIABLE}={mark}".encode()
    own = os.getpid()
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if pid != own and _has(pid, wanted)]


def _has(pid: int, wanted: bytes) -> bool:
    try:
        return wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # it has ended, or is somebody else's
        return False
