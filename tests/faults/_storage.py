"""Power cuts: what a disk may hold after one, worked out from a record of every write.

A power cut loses what was not synced, and not in order: of the writes since the last fsync some are there, some are
not, and some only in part. New names, renames and removals in a folder may be missing from the newest back, unless the
folder was synced. `recorded` reads what strace wrote, and `Disk.after` builds one of the folders that may be left.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SECTOR = 512  # bytes that a disk writes as one
CALLS = "openat,lseek,write,pwrite64,ftruncate,fsync,fdatasync,mkdir,rename,unlink,unlinkat,rmdir"
_CALL = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+)", re.DOTALL)
_OPENED = re.compile(r"(\d+)<([^>]*)>")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


def _plain(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


@dataclass(frozen=True)
class Write:
    """Bytes at an offset of a file; None cuts the file, or lengthens it, to the offset."""

    file: int
    offset: int
    data: bytes | None


@dataclass(frozen=True)
class Rename:
    """Names of folders that change together: what each leads to from now on, or None."""

    folder: int
    changes: tuple[tuple[int, str, int | None], ...]


@dataclass(frozen=True)
class Sync:
    """A file or folder that was synced: what it held then is safe."""

    what: int


@dataclass(frozen=True)
class Acknowledged:
    """The program has told its user that so many entries are safe."""

    entries: int


@dataclass
class Disk:
    """What happened to a folder, in order. Files and folders are numbered; the folder itself is 0.

    Args:
        steps: that happened.
        folders: the numbers of those that are folders.
    """

    steps: list[Write | Rename | Sync | Acknowledged] = field(default_factory=list)
    folders: set[int] = field(default_factory=lambda: {0})

    def acknowledged(self, cut: int) -> int:
        """Return how many entries the program had called safe before a step."""
        return max((step.entries for step in self.steps[:cut] if isinstance(step, Acknowledged)), default=0)

    def after(self, cut: int, rng: random.Random, where: Path) -> None:
        """Build what may be left when the power goes before a step."""
        past = self.steps[:cut]
        synced = {step.what: at for at, step in enumerate(past) if isinstance(step, Sync)}
        files: dict[int, bytearray] = {}
        names: dict[int, dict[str, int]] = {folder: {} for folder in self.folders}
        kept_until = {
            folder: rng.choice([at for at, step in enumerate(past) if at > synced.get(folder, -1)] or [cut])
            for folder in sorted(self.folders)
        }
        for at, step in enumerate(past):
            if isinstance(step, Write):
                if at < synced.get(step.file, -1):
                    _apply(files.setdefault(step.file, bytearray()), step, None)
                elif rng.random() < 0.6:
                    torn = rng.randrange(len(step.data) // SECTOR + 1) * SECTOR if step.data else 0
                    _apply(files.setdefault(step.file, bytearray()), step, torn if rng.random() < 0.3 else None)
            elif isinstance(step, Rename) and (at < synced.get(step.folder, -1) or at < kept_until[step.folder]):
                for folder, name, target in step.changes:
                    names[folder].pop(name, None)
                    if target is not None:
                        names[folder][name] = target
        self._build(0, names, files, where)

    def _build(self, folder: int, names: dict[int, dict[str, int]], files: dict[int, bytearray], where: Path) -> None:
        where.mkdir(parents=True)
        for name, target in names[folder].items():
            if target in self.folders:
                self._build(target, names, files, where / name)
            else:
                (where / name).write_bytes(files.get(target, b""))


def _apply(content: bytearray, step: Write, torn: int | None) -> None:
    data = step.data if torn is None or step.data is None else step.data[:torn]
    if data is None:
        del content[step.offset :]
    content.extend(bytes(max(0, step.offset - len(content))))
    if data:
        content[step.offset : step.offset + len(data)] = data


def _calls(trace: Path) -> Iterator[tuple[str, str, int]]:
    """Yield the calls of a trace that succeeded: name, arguments with strings in hexadecimal, and result."""
    for line in trace.read_text().splitlines():
        found = _CALL.match(line)
        if found and int(found[3]) >= 0:
            yield found[1], found[2], int(found[3])


def recorded(trace: Path, folder: Path, acknowledgements: Path) -> Disk:
    """Read a trace of `strace -f -y -xx`: everything that a program did to a folder.

    Args:
        trace: that strace wrote, of CALLS.
        folder: that is of interest. SQLite's shared memory is not: it holds nothing that counts after a power cut.
        acknowledgements: a file outside it, to which the program wrote lines that are numbers of safe entries.
    """
    disk = Disk()
    live: dict[str, int] = {str(folder): 0}
    sizes: dict[int, int] = {}
    places: dict[int, int] = {}  # of file descriptors, in their files
    kept = re.compile(re.escape(str(folder)) + r"(/(?!.*-shm).*)?")

    def split(path: str) -> tuple[int, str]:
        return live[str(Path(path).parent)], Path(path).name

    for name, arguments, result in _calls(trace):
        texts = [_plain(text) for text in _TEXT.findall(arguments)]
        opened = _OPENED.match(arguments)
        path = _plain(opened[2]).decode() if opened else ""
        if name == "write" and path == str(acknowledgements):
            disk.steps.append(Acknowledged(int(texts[0])))
            continue
        if name in ("openat", "mkdir", "unlink", "rmdir", "unlinkat", "rename"):
            at = path if name in ("openat", "unlinkat") else ""
            given = [str(Path(at) / text.decode()) for text in texts]
            if not kept.fullmatch(given[0]) or given[0] == str(folder):
                continue
            if name == "openat":
                if "O_CREAT" in arguments and given[0] not in live:
                    live[given[0]] = number = 1 + max(live.values(), default=0) + len(disk.steps)
                    home, leaf = split(given[0])
                    disk.steps.append(Rename(home, ((home, leaf, number),)))
                if given[0] in live and "O_TRUNC" in arguments:
                    disk.steps.append(Write(live[given[0]], 0, None))
                    sizes[live[given[0]]] = 0
                places[result] = sizes.get(live.get(given[0], -1), 0) if "O_APPEND" in arguments else 0
            elif name == "mkdir":
                live[given[0]] = number = 1 + max(live.values()) + len(disk.steps)
                disk.folders.add(number)
                home, leaf = split(given[0])
                disk.steps.append(Rename(home, ((home, leaf, number),)))
            elif name == "rename":
                (home, leaf), (to, new) = split(given[0]), split(given[1])
                moved = live[given[0]]
                for old in [p for p in live if p == given[0] or p.startswith(given[0] + "/")]:
                    live[given[1] + old[len(given[0]) :]] = live.pop(old)
                disk.steps.append(Rename(to, ((home, leaf, None), (to, new, moved))))
            else:
                home, leaf = split(given[0])
                del live[given[0]]
                disk.steps.append(Rename(home, ((home, leaf, None),)))
            continue
        if opened is None or path not in live:
            continue
        number, handle = live[path], int(opened[1])
        if name == "lseek":
            places[handle] = result
        elif name in ("fsync", "fdatasync"):
            disk.steps.append(Sync(number))
        elif name == "ftruncate":
            sizes[number] = int(arguments.rsplit(",", 1)[1])
            disk.steps.append(Write(number, sizes[number], None))
        else:
            start = int(arguments.rsplit(",", 1)[1]) if name == "pwrite64" else places.get(handle, 0)
            disk.steps.append(Write(number, start, texts[0][:result]))
            sizes[number] = max(sizes.get(number, 0), start + result)
            if name == "write":
                places[handle] = start + result
    return disk
