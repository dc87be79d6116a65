"""The mark: how many events the log of a run must have, kept in a file of its own beside it.

SQLite keeps the newest events in a second file until it folds them into the first. Somebody who copies a run without
that file, or cuts it, has a log that is whole but shorter, and nothing in it tells. The mark does. It is written after
every commit and never synced: after a power cut it may be older than the log, and then it tells less, but never more
than there is.
"""

import os
import zlib
from pathlib import Path

from popbandits.run._plain_files import open_plain, read_plain

FILE = "run.length"
_LENGTH = 32


class Mark:
    """The mark of a run that is being written.

    Args:
        folder: the run's.
    """

    def __init__(self, folder: Path) -> None:
        self._descriptor = open_plain(folder / FILE, os.O_WRONLY | os.O_CREAT)

    def set(self, events: int) -> None:
        """Say how many events are durable."""
        os.pwrite(self._descriptor, _written(events), 0)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def marked(folder: Path) -> int:
    """Return how many events the log of a run must have at least; 0 where no mark can be read."""
    try:
        text = read_plain(folder / FILE, _LENGTH)
    except (OSError, ValueError):
        return 0
    number = text.split(b" ")[0]
    events = int(number) if number.isdigit() else 0
    return events if text == _written(events) else 0


def _written(events: int) -> bytes:
    number = str(events).encode()
    return number + b" " + str(zlib.crc32(number)).encode().ljust(_LENGTH - len(number) - 2) + b"\n"
