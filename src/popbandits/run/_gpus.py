"""Which GPUs there are, and what a worker is told so that it sees its own alone."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from popbandits._errors import OptionError

Gpus: TypeAlias = int | Literal["auto"] | Sequence[int | str] | None
"""How many GPUs to use, "auto" for all there are, or which by their ids; None leaves them alone."""

_WSL = Path("/dev/dxg")  # Windows' GPUs, which cannot be counted from here
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")  # NVIDIA's, which PyTorch and JAX read; and ROCm's


def chosen(gpus: Gpus) -> tuple[str, ...] | None:
    """Return the ids of the GPUs to use; None when they are left alone.

    A number in a list must be that of a GPU that this process may use. A text is taken at its word, so that any id that
    the driver knows (a UUID, a part of a GPU) can be given.

    Raises:
        OptionError: for more GPUs than there are, none, or the same one twice.
    """
    if gpus is None:
        return None
    if gpus == "auto":
        return present() or None
    if isinstance(gpus, bool) or not isinstance(gpus, (int, Sequence)) or isinstance(gpus, (str, bytes)):
        raise OptionError(f"gpus is a number, 'auto' or a list of ids, but got {gpus!r}")
    there = present()
    found = f"{len(there)}: {', '.join(there)}" if there else "none"
    if isinstance(gpus, int):
        if not 1 <= gpus <= len(there):
            raise OptionError(f"gpus={gpus} were asked for, but this process may use {found}")
        return there[:gpus]
    ids = tuple(_id(gpu) for gpu in gpus)
    absent = [str(gpu) for gpu in gpus if isinstance(gpu, int) and str(gpu) not in there and not _WSL.exists()]
    if absent:
        raise OptionError(f"GPU {absent[0]} was asked for, but this process may use {found}")
    if not ids or len(set(ids)) < len(ids):
        raise OptionError(f"gpus lists each GPU once, and one at least, but got {list(gpus)!r}")
    return ids


def present() -> tuple[str, ...]:
    """Return the ids of the GPUs that this process may use, as the drivers of NVIDIA and AMD show them."""
    for name in _VISIBLE:
        told = os.environ.get(name)
        if told is not None:
            return tuple(part.strip() for part in told.split(",") if part.strip() not in ("", "-1", "NoDevFiles"))
    nvidia = [path for path in Path("/dev").glob("nvidia*") if path.name.removeprefix("nvidia").isdigit()]
    amd = [path for path in Path("/sys/class/kfd/kfd/topology/nodes").glob("*/gpu_id") if _read(path) not in ("", "0")]
    return tuple(str(i) for i in range(len(nvidia) or len(amd)))


def environment(gpus: tuple[str, ...] | None, worker: int, workers: int) -> dict[str, str]:
    """Return what a worker is told: one GPU, the same for every so-many-th worker.

    Args:
        gpus: the ids to share out; None to leave the environment as it is.
        worker, workers: its number, and how many there are.
    """
    if gpus is None:
        return {}
    told = dict.fromkeys(_VISIBLE, gpus[worker % len(gpus)])
    if workers > len(gpus):
        told["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # else the first JAX process on a GPU takes most of its memory
    return told


def _id(gpu: Any) -> str:
    if isinstance(gpu, bool) or not isinstance(gpu, (int, str)) or not str(gpu).strip():
        raise OptionError(f"a GPU's id is a number or a text such as 'GPU-3f1a…', but got {gpu!r}")
    if isinstance(gpu, int) and gpu < 0:
        raise OptionError(f"GPUs are numbered from 0, but got {gpu}")
    return str(gpu)


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
