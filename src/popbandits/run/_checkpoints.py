"""Checkpoints: immutable folders, complete or not there at all.

A worker writes the user's files into a folder beside, with a manifest of sizes and sha256, everything fsynced; the
controller renames it into place and fsyncs the parent. What is visible is complete. A copy refers to a donor's folder;
no bytes are copied.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from popbandits._errors import RunError
from popbandits.run._plain_files import read_plain
from popbandits.run._trees import is_part, load_state, save_tree

MANIFEST = "manifest.json"
_BESIDE = ".new-"
_DAMAGED = ".damaged-"
_ASIDE = ".unexplained-"
_LONGEST = 100_000_000  # bytes of a manifest: half a million files
INITIAL = "initial"
"""The checkpoint that agents start from in a run that was given one."""
_NAME = re.compile(r"(?:agent-(\d{4,})|all)-interval-(\d{6,})-\d+")
_LEFT = re.compile(rf"{re.escape(_BESIDE)}(gone-)?({_NAME.pattern}|{INITIAL})")


def beside(folder: Path, name: str) -> Path:
    """Return an empty folder to write the checkpoint `name` into; what an earlier attempt left there is gone."""
    path = beside_of(folder, name)
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


def beside_of(folder: Path, name: str) -> Path:
    """Return where the checkpoint `name` is written before it is published."""
    return folder / f"{_BESIDE}{name}"


def seal(path: Path) -> None:
    """Write the manifest of a folder and make all of it durable.

    Raises:
        RunError: when the folder holds a link or something else that is not a file or folder.
    """
    if (path / MANIFEST).exists():
        raise RunError(f"save wrote a file named {MANIFEST}, which is the name of a checkpoint's own; choose another")
    manifest = {}
    for file in _files(path):
        relative = file.relative_to(path).as_posix()
        if file.is_symlink() or not (file.is_file() or file.is_dir()):
            raise RunError(f"a checkpoint holds files and folders only, but {relative} is neither")
        if file.is_file():
            manifest[relative] = {"size": file.stat().st_size, "sha256": _sha256(file)}
    (path / MANIFEST).write_text(json.dumps(manifest))
    make_durable(path)


def make_durable(path: Path) -> None:
    """Fsync all files of a folder, then the folders, itself last."""
    folders = [path]
    for file in [path / MANIFEST, *_files(path)]:
        if file.is_dir():
            folders.append(file)
        else:
            _fsync(file)
    for inner in reversed(folders):
        _fsync(inner)


def publish(folder: Path, name: str) -> None:
    """Make a sealed checkpoint visible under its name."""
    os.rename(beside_of(folder, name), folder / name)
    _fsync(folder)


def take_in(source: Path, folder: Path, name: str) -> None:
    """Copy a folder from elsewhere into the checkpoints under a name: a checkpoint, or files that a save has written.

    Raises:
        RunError: when it is not there, is damaged or holds something that is no file.
    """
    sealed = source.parent if is_part(source) else source
    wrong = damage(sealed) if (sealed / MANIFEST).exists() else None
    if wrong is not None:
        raise RunError(f"the checkpoint {source} is damaged: {wrong}")
    collect(folder, [name])  # what an earlier start has left
    path = beside_of(folder, name)
    shutil.rmtree(path, ignore_errors=True)
    if is_part(source):
        path.mkdir()
        save_tree(load_state(source), path)
        seal(path)
        publish(folder, name)
        return
    shutil.copytree(
        source, path, symlinks=True, ignore=lambda at, names: {MANIFEST} & set(names) if Path(at) == source else set()
    )
    seal(path)
    publish(folder, name)


def damage(path: Path) -> str | None:
    """Return what is wrong with a checkpoint in a few words, or None when its hashes hold."""
    try:
        manifest = json.loads(read_plain(path / MANIFEST, _LONGEST))
        present = {f.relative_to(path).as_posix() for f in _files(path) if f.is_file() and not f.is_symlink()}
        for name, expected in manifest.items():
            if name not in present:
                return f"{name} is missing"
            file = path / name
            if file.stat().st_size != expected["size"]:
                return f"{name} has {file.stat().st_size} bytes, not {expected['size']}"
            if _sha256(file) != expected["sha256"]:
                return f"{name} does not match its hash"
    except FileNotFoundError:
        return "it is missing" if not path.exists() else "its manifest is missing"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return f"its manifest cannot be read ({type(error).__name__})"
    return None


def quarantine(folder: Path, name: str) -> None:
    """Put a damaged checkpoint aside, where nobody loads it and a person can look at it."""
    if not (folder / name).exists():
        return  # another agent that was told to load it has found out first
    _put_aside(folder, name, _DAMAGED)
    _fsync(folder)


def collect(folder: Path, names: Collection[str]) -> None:
    """Remove checkpoints."""
    for name in names:
        # Out of sight first: a checkpoint that is half removed must not be visible.
        hidden = folder / f"{_BESIDE}gone-{name}"
        try:
            os.rename(folder / name, hidden)
        except FileNotFoundError:
            continue
        shutil.rmtree(hidden, ignore_errors=True)


def checkpoint_name(agent: int, interval: int, attempt: int) -> str:
    """Return the name of the checkpoint that an attempt at an interval writes."""
    return f"agent-{agent:04d}-interval-{interval:06d}-{attempt}"


def population_name(trained: int) -> str:
    """Return the name of the checkpoint of a whole population that has trained so many intervals."""
    return f"all-interval-{trained:06d}-1"


def number_of(population: str) -> int:
    """Return how many intervals the population of a checkpoint has trained."""
    return int(folder_of(population).split("-")[2])


def of_agent(population: str, agent: int) -> str:
    """Return the name of one agent's part of a checkpoint of the whole population."""
    return f"{population}/agent-{agent:04d}"


def folder_of(name: str) -> str:
    """Return the folder that a checkpoint lies in: its own, or the whole population's."""
    return name.partition("/")[0]


def sweep(folder: Path, needed: Collection[str], explained: Callable[[int | None, int], bool]) -> list[str]:
    """Remove what is not needed, and what attempts that never ended have left beside; damaged ones stay.

    A checkpoint that the log does not explain may be all that is left of a part of the log that was lost: it is put
    aside under another name. What is not a checkpoint of ours is left alone.

    Args:
        folder: of the checkpoints.
        needed: names that stay.
        explained: whether the log knows of an agent's interval; of the population's, for None.

    Returns:
        The names of those that were put aside.
    """
    kept = {folder_of(name) for name in needed}
    names = {name: _NAME.fullmatch(name) for name in visible(folder) if name not in kept}
    known = {
        name: (None if found[1] is None else int(found[1]), int(found[2]))
        for name, found in names.items()
        if found is not None
    }
    collect(folder, [name for name, of in known.items() if explained(*of)])
    strange = [name for name, of in known.items() if not explained(*of)]
    for name in strange:
        _put_aside(folder, name, _ASIDE)
    for path in folder.iterdir():
        if _LEFT.fullmatch(path.name):
            shutil.rmtree(path, ignore_errors=True)
    return strange


def visible(folder: Path) -> list[str]:
    """Return the names of the checkpoints that can be loaded; what else lies there is nobody's business.

    Raises:
        RunError: when the folder is missing.
    """
    try:
        present = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise RunError(f"the checkpoints of the run are not there: {folder}: {error.strerror}") from None
    return [name for name in present if name == INITIAL or _NAME.fullmatch(name)]


def _put_aside(folder: Path, name: str, prefix: str) -> None:
    """Rename a checkpoint. What was put aside under that name before may be all there is of another loss: it stays."""
    number, aside = 1, folder / f"{prefix}{name}"
    while aside.exists():
        number += 1
        aside = folder / f"{prefix}{name}.{number}"
    os.rename(folder / name, aside)


def _files(path: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(path):
        for name in sorted([*folders, *files]):
            if name != MANIFEST or Path(root) != path:
                yield Path(root) / name


def _sha256(file: Path) -> str:
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
