"""A convolutional network as a trainable (the paper's appendix): CIFAR-10 or Fashion-MNIST, JAX, one core.

Read from top to bottom: the network, the gradient of a piece, the optimiser, then the agent. Half of the training
images are trained on; the score is the accuracy on images of the other half, so that the test images choose nothing. An
interval is five passes, counted in images.

The batch size may be any whole number from 4 to 128 without a recompilation: gradients are added up over pieces of
PIECE images, the last one padded and masked. Pieces of that size also stay in the processor's cache.

A checkpoint holds the weights, the optimiser, the random state and where in the pass it stood, so that a loaded agent
goes on as if never stopped.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from popbandits._errors import TrainableError
from popbandits._types import Hparams
from popbandits.space import Float, Int, Space
from popbandits.workloads._episodes import Judgement
from popbandits.workloads._jax import jax, jnp
from popbandits.workloads._trees import named_leaves, with_leaves
from popbandits.workloads.data import load_images

PIECE = 16
CHANNELS = (16, 32, 64)
HIDDEN = 256
SECOND_MOMENT = 0.999
SCORED = 5000  # images that the score is measured on
PASSES = 5  # in an interval

# The network: three convolutions, each with a pool behind it, dropout, a dense layer, dropout, logits.


def init_weights(rng: np.random.Generator, shape: tuple[int, int, int], classes: int) -> dict[str, Any]:
    """Return fresh weights for images of this shape (height, width, channels)."""

    def layer(*shape: int, gain: float = 2**0.5) -> dict[str, Any]:
        w = gain / np.prod(shape[:-1]) ** 0.5 * rng.standard_normal(shape)
        return {"w": w.astype(np.float32), "b": np.zeros(shape[-1], np.float32)}

    height, width, inputs = shape
    convolutions = []
    for channels in CHANNELS:
        convolutions.append(layer(3, 3, inputs, channels))
        inputs, height, width = channels, height // 2, width // 2
    hidden = layer(height * width * inputs, HIDDEN)
    return {"convolutions": convolutions, "hidden": hidden, "out": layer(HIDDEN, classes, gain=1.0)}


def forward(weights: Any, x: Any, keep: tuple[Any, Any] | None = None) -> Any:
    """Return the logits of n images of bytes; `keep` has the factors of the two dropouts, None to drop nothing."""
    x = x.astype(jnp.float32) / 128 - 1
    for layer in weights["convolutions"]:
        x = jax.lax.conv_general_dilated(x, layer["w"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.relu(x + layer["b"])
        n, height, width, channels = x.shape
        x = x[:, : height // 2 * 2, : width // 2 * 2].reshape(n, height // 2, 2, width // 2, 2, channels).max((2, 4))
    x = x.reshape(len(x), -1)
    x = x if keep is None else x * keep[0]
    x = jax.nn.relu(x @ weights["hidden"]["w"] + weights["hidden"]["b"])
    x = x if keep is None else x * keep[1]
    return x @ weights["out"]["w"] + weights["out"]["b"]


@partial(jax.jit)
def right(weights: Any, x: Any, labels: Any) -> Any:
    """Return how many images are given their label."""
    return (forward(weights, x).argmax(-1) == labels).sum()


# Learning: gradients of pieces added up, then one step of Adam with decoupled weight decay.


def loss(weights: Any, piece: dict[str, Any], keep: tuple[Any, Any]) -> Any:
    """Return the cross-entropy of a piece, summed with its weights."""
    log_chances = jax.nn.log_softmax(forward(weights, piece["image"], keep))
    chosen = jnp.take_along_axis(log_chances, piece["label"][:, None].astype(jnp.int32), axis=-1)[:, 0]
    return -(chosen * piece["weight"]).sum()


@partial(jax.jit, donate_argnums=0)
def add_gradient(total: Any, weights: Any, piece: dict[str, Any], seed: Any, dropout: tuple[Any, Any]) -> Any:
    """Return the gradient so far plus that of one more piece."""
    keys = jax.random.split(jax.random.key(seed))
    sizes = (weights["hidden"]["w"].shape[0], HIDDEN)
    keep = tuple(
        jax.random.bernoulli(key, 1 - rate, (PIECE, size)) / (1 - rate)
        for key, size, rate in zip(keys, sizes, dropout, strict=True)
    )
    return jax.tree.map(jnp.add, total, jax.grad(loss)(weights, piece, keep))


@partial(jax.jit, donate_argnums=(0, 1))
def descend(weights: Any, moments: Any, gradient: Any, hparams: dict[str, Any]) -> tuple[Any, Any]:
    """Return weights and moments after one step; momentum is Adam's first moment, and may change at any time."""
    first, second, faded = moments
    momentum, rate = hparams["momentum"], hparams["lr"]
    first = jax.tree.map(lambda m, g: momentum * m + (1 - momentum) * g, first, gradient)
    second = jax.tree.map(lambda v, g: SECOND_MOMENT * v + (1 - SECOND_MOMENT) * g**2, second, gradient)
    # The bias of a first moment whose decay changes is the product of all decays so far.
    faded = (faded[0] * momentum, faded[1] * SECOND_MOMENT)

    def move(w: Any, m: Any, v: Any) -> Any:
        step = (m / (1 - faded[0])) / (jnp.sqrt(v / (1 - faded[1])) + 1e-8)
        return w - rate * (step + hparams["weight_decay"] * w)

    return jax.tree.map(move, weights, first, second), (first, second, faded)


class CNN:
    """An agent that learns one data set; subclasses name it."""

    data: ClassVar[str]
    images: ClassVar[int] = 25_000
    """Images that are trained on: half of CIFAR-10's."""
    space: ClassVar[Space] = Space(
        {
            "batch_size": Int(4, 128),
            "dropout_1": Float(0.1, 0.5),
            "dropout_2": Float(0.1, 0.5),
            "lr": Float(1e-4, 1e-3, log=True),
            "weight_decay": Float(1e-5, 1e-3, log=True),
            "momentum": Float(0.8, 0.99),
        }
    )

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        found = load_images(self.data)
        if len(found.train) < self.images + 1:
            raise TrainableError(f"{self.data} has {len(found.train)} images, but {self.images} are to be trained on")
        self.x, self.labels = found.train[: self.images], found.train_labels[: self.images]
        apart = slice(self.images, self.images + SCORED)
        self.scored, self.scored_labels = found.train[apart], found.train_labels[apart]
        self.test, self.test_labels = found.test, found.test_labels
        self.weights: Any = init_weights(self.rng, self.x.shape[1:], 10)
        zeros = jax.tree.map(np.zeros_like, self.weights)
        self.moments: Any = (zeros, jax.tree.map(np.zeros_like, self.weights), (np.float32(1), np.float32(1)))
        self.steps = self.goal = 0
        self.order = np.empty(0, np.int64)

    def step(self, hparams: Hparams) -> dict[str, float]:
        """Train five passes, or `interval` images; the score is the accuracy in per cent on images kept apart."""
        self.goal += hparams.get("interval", PASSES * self.images)
        while self.steps < self.goal:
            if len(self.order) == 0:
                self.order = self.rng.permutation(self.images)
            batch, self.order = np.split(self.order, [min(hparams["batch_size"], len(self.order))])
            self._learn(batch, hparams)
            self.steps += len(batch)
        return {"score": self.accuracy(self.scored, self.scored_labels), "steps": float(self.steps)}

    def reseed(self, seed: int) -> None:
        """Draw other random numbers from now on than the agent whose checkpoint was loaded."""
        self.rng = np.random.default_rng(seed)
        self.order = self.rng.permutation(self.order)

    def judge(self, seed: int) -> Judgement:  # noqa: ARG002  (all test images are judged by, so there is nothing to draw)
        """Return the accuracy in per cent on the test images, which chose nothing."""
        share = self.accuracy(self.test, self.test_labels) / 100
        count = len(self.test)
        return Judgement(100 * share, 100 * (share * (1 - share) / count) ** 0.5, count)

    def accuracy(self, images: Any, labels: Any) -> float:
        """Return the percentage of images that are given their label; nan when training has diverged."""
        if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(self.weights)):
            return float("nan")  # every image would be given the first label, and be right for a tenth of them
        size = 50
        parts = range(0, len(images), size)
        counts = [right(self.weights, images[i : i + size], labels[i : i + size]) for i in parts]
        return 100 * float(np.sum(counts)) / len(images)

    def _learn(self, batch: Any, hparams: Hparams) -> None:
        """Take one step of the optimiser."""
        padded = np.zeros(-(-len(batch) // PIECE) * PIECE, np.int64)
        padded[: len(batch)] = batch
        weight = (np.arange(len(padded)) < len(batch)).astype(np.float32) / len(batch)
        dropout = (np.float32(hparams["dropout_1"]), np.float32(hparams["dropout_2"]))
        gradient = jax.tree.map(np.zeros_like, self.weights)
        for at in range(0, len(padded), PIECE):
            rows = padded[at : at + PIECE]
            piece = {"image": self.x[rows], "label": self.labels[rows], "weight": weight[at : at + PIECE]}
            gradient = add_gradient(gradient, self.weights, piece, self.rng.integers(2**31), dropout)
        numbers = {name: np.float32(hparams[name]) for name in ("lr", "weight_decay", "momentum")}
        self.weights, self.moments = descend(self.weights, self.moments, gradient, numbers)

    def save(self, path: Path) -> None:
        """Write everything that training depends on, but for the images."""
        np.savez(path / "agent.npz", order=self.order, **named_leaves((self.weights, self.moments)))
        counters = {"steps": self.steps, "goal": self.goal, "random": self.rng.bit_generator.state}
        (path / "counters.json").write_text(json.dumps(counters))

    def load(self, path: Path) -> None:
        """Become what was saved."""
        counters = json.loads((path / "counters.json").read_text())
        with np.load(path / "agent.npz", allow_pickle=False) as saved:
            self.weights, self.moments = with_leaves((self.weights, self.moments), saved)
            self.order = saved["order"]
        self.steps, self.goal = counters["steps"], counters["goal"]
        self.rng.bit_generator.state = counters["random"]


class CIFAR10(CNN):
    """CIFAR-10: colour photographs of ten kinds of things."""

    data = "cifar10"


class FashionMNIST(CNN):
    """Fashion-MNIST: grey pictures of ten kinds of clothes."""

    data = "fashion-mnist"
    images = 30_000
