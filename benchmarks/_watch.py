"""Whether a process stands still: whether it and all it has started sleep without doing any work."""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class Work(NamedTuple):
    """What a process and all it has started have done so far.

    Args:
        ticks: of processor time.
        busy: whether a thread is running, or waits for its turn on the processor.
    """

    ticks: int
    busy: bool


def work_of(pid: int) -> Work:
    """Return what a process, its children and theirs have done. Threads that have ended count no more."""
    found = {int(folder.name): _stat(folder) for folder in Path("/proc").glob("[0-9]*")}
    family = {pid}
    while more := {child for child, stat in found.items() if stat and int(stat[1]) in family} - family:
        family |= more
    stats = [stat for one in family if (stat := found.get(one))]
    threads = [_stat(thread) for one in family for thread in _threads(one)]
    ticks = sum(int(stat[11]) + int(stat[12]) for stat in stats)
    return Work(ticks, any(stat is not None and stat[0] == "R" for stat in threads))


def _threads(pid: int) -> list[Path]:
    with suppress(OSError):
        return list(Path(f"/proc/{pid}/task").iterdir())
    return []


def _stat(folder: Path) -> list[str] | None:
    """Return the fields of a stat file from the state on; None for a process that has ended."""
    with suppress(OSError):
        return (folder / "stat").read_text().rpartition(")")[2].split()
    return None
