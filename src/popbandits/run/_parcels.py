"""Parcels: checkpoints as arrays of bytes, for executors whose workers cannot see the run folder.

A parcel maps the name of each file within a checkpoint to its bytes. Ray keeps such arrays in its object store, hands
them from node to node, and shows them to a process without copying them.
"""

import shutil
from pathlib import Path
from typing import Any

import numpy as np

Parcel = dict[str, "np.ndarray[Any, Any]"]


def packed(path: Path) -> Parcel:
    """Return the files of a folder."""
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    return {file.relative_to(path).as_posix(): np.fromfile(file, dtype=np.uint8) for file in files}


def unpacked(parcel: Parcel, path: Path) -> None:
    """Write the files of a parcel into a folder that is made for them, straight from where the bytes are."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    for name, data in parcel.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("wb") as out:
            data.tofile(out)
