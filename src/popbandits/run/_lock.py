"""One controller for a run: a lock that the system releases when its holder ends, however it ends."""

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

from popbandits._errors import RunError
from popbandits.run._plain_files import open_plain

FILE = "lock"


class Lock:
    """Held for as long as a `with` block lasts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor = -1

    def __enter__(self) -> "Lock":
        descriptor = _open(self._folder, os.O_RDWR | os.O_CREAT)
        for patience in range(20, -1, -1):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                process = holder(self._folder)
                if process is None and patience:  # somebody was only looking whether it is held
                    time.sleep(0.02)
                    continue
                os.close(descriptor)
                raise RunError(f"{self._folder} is in use by process {process}; stop it first") from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        self._descriptor = descriptor
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)


def holder(folder: Path) -> int | None:
    """Return the process that holds a run's lock; None when it is free."""
    if not (folder / FILE).exists():
        return None
    descriptor = _open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(descriptor, 32, 0)
        return int(text) if text.isdigit() else -1
    else:
        return None
    finally:
        os.close(descriptor)


def holds(process: int, folder: Path) -> bool:
    """Return whether a process has the lock of a run open: what is written in a lock may be anybody's number."""
    lock = (folder / FILE).stat()
    try:
        opened = [entry.stat() for entry in Path(f"/proc/{process}/fd").iterdir() if entry.exists()]
    except OSError:
        return False
    return any((one.st_dev, one.st_ino) == (lock.st_dev, lock.st_ino) for one in opened)


def _open(folder: Path, flags: int) -> int:
    try:
        return open_plain(folder / FILE, flags)
    except OSError as error:
        raise RunError(f"the lock of {folder} cannot be used: {error.strerror}") from None
