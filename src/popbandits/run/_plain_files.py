"""Files of a run folder that comes from anywhere: a link, a pipe or a device in their place is refused."""

import os
import stat
from pathlib import Path


def open_plain(path: Path, flags: int) -> int:
    """Return a descriptor of a plain file.

    Raises:
        OSError: when it cannot be opened, or is something else than a file.
    """
    # Without O_NONBLOCK, opening a pipe that nobody writes to takes for ever; for files it changes nothing.
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(None, "it is not a plain file", str(path))
    return descriptor


def read_plain(path: Path, most: int) -> bytes:
    """Return what a plain file holds.

    Args:
        path: of the file.
        most: bytes that it may have.

    Raises:
        OSError: when it cannot be read, or is something else than a file.
        ValueError: when it is larger.
    """
    with os.fdopen(open_plain(path, os.O_RDONLY), "rb") as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise ValueError(f"{path.name} has more than {most:,} bytes")
    return found
