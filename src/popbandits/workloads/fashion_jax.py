"""A small network on Fashion-MNIST, trained by SGD with momentum, as pure functions of one agent.

Images are averaged over squares of two by two pixels, so that hundreds of networks train in one compiled call. An
interval is STEPS minibatches. Its score is the accuracy in per cent on images that are not trained on; scoring the same
weights again gives the same number, so there is no `score_error`. A finished network is judged by the test images.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from popbandits.space import Float, Space
from popbandits.workloads._jax import jax, jnp
from popbandits.workloads._learner import Learner
from popbandits.workloads.data import Images, load_images

TRAINED, SCORED, JUDGED = 10_000, 2_000, 5_000  # images, of the training set the first two, of the test set the last
STEPS, BATCH = 60, 32
HIDDEN, CLASSES = 64, 10

SPACE = Space(
    {
        "lr": Float(1e-3, 3.0, log=True),
        "momentum": Float(0.0, 0.99),
        "weight_decay": Float(1e-6, 1e-2, log=True),
        "dropout": Float(0.0, 0.6),
    }
)


class Data(NamedTuple):
    """Images as rows of numbers from -1 to 1, and their labels: to train on, to score by, to judge by."""

    x: Any
    labels: Any
    scored: tuple[Any, Any]
    judged: tuple[Any, Any]


class Agent(NamedTuple):
    """All that an agent is."""

    weights: Any
    velocity: Any
    key: Any


def smaller(images: Any) -> Any:
    """Return images of bytes, n x height x width x 1, at half the size, as rows of numbers from -1 to 1."""
    n, height, width = images.shape[:3]
    squares = images.reshape(n, height // 2, 2, width // 2, 2).astype(np.float32)
    return jnp.asarray(squares.mean((2, 4)).reshape(n, -1) / 127.5 - 1)


def split(images: Images) -> Data:
    """Return what is trained on, scored by and judged by."""
    apart = slice(TRAINED, TRAINED + SCORED)
    return Data(
        smaller(images.train[:TRAINED]),
        jnp.asarray(images.train_labels[:TRAINED], jnp.int32),
        (smaller(images.train[apart]), jnp.asarray(images.train_labels[apart], jnp.int32)),
        (smaller(images.test[:JUDGED]), jnp.asarray(images.test_labels[:JUDGED], jnp.int32)),
    )


def forward(weights: Any, x: Any, keep: Any = 1.0) -> Any:
    """Return logits, n x CLASSES; `keep` multiplies the hidden units, for dropout."""
    hidden = jax.nn.relu(x @ weights["into"] + weights["shift"]) * keep
    return hidden @ weights["out"] + weights["level"]


def loss(weights: Any, x: Any, labels: Any, keep: Any) -> Any:
    """Return the mean cross-entropy of a minibatch."""
    log_chances = jax.nn.log_softmax(forward(weights, x, keep))
    return -jnp.take_along_axis(log_chances, labels[:, None], axis=-1).mean()


def init(data: Data, key: Any) -> Agent:
    """Return an untrained agent."""
    inputs = data.x.shape[1]
    into, out, key = jax.random.split(key, 3)
    weights = {
        "into": jax.random.normal(into, (inputs, HIDDEN)) * (2 / inputs) ** 0.5,
        "shift": jnp.zeros(HIDDEN),
        "out": jax.random.normal(out, (HIDDEN, CLASSES)) * HIDDEN**-0.5,
        "level": jnp.zeros(CLASSES),
    }
    return Agent(weights, jax.tree.map(jnp.zeros_like, weights), key)


def step(data: Data, agent: Agent, hparams: dict[str, Any]) -> tuple[Agent, dict[str, Any]]:
    """Train STEPS minibatches; the score is the accuracy on images kept apart."""
    key, train = jax.random.split(agent.key)

    def one(learned: Any, key: Any) -> Any:
        weights, velocity = learned
        draw, drop = jax.random.split(key)
        chosen = jax.random.randint(draw, (BATCH,), 0, len(data.x))
        kept = 1 - hparams["dropout"]
        keep = jax.random.bernoulli(drop, kept, (BATCH, HIDDEN)) / kept
        slope = jax.grad(loss)(weights, data.x[chosen], data.labels[chosen], keep)
        velocity = jax.tree.map(lambda v, g: hparams["momentum"] * v + g, velocity, slope)
        fade = 1 - hparams["lr"] * hparams["weight_decay"]
        return (jax.tree.map(lambda w, v: fade * w - hparams["lr"] * v, weights, velocity), velocity), None

    (weights, velocity), _ = jax.lax.scan(one, (agent.weights, agent.velocity), jax.random.split(train, STEPS))
    return Agent(weights, velocity, key), {"score": accuracy(weights, *data.scored)[0]}


def accuracy(weights: Any, x: Any, labels: Any) -> tuple[Any, Any]:
    """Return the percentage of images that are given their label, and its standard error; nan when it has diverged."""
    logits = forward(weights, x)
    share = jnp.where(jnp.isfinite(logits).all(), (logits.argmax(-1) == labels).mean(), jnp.nan)
    return 100 * share, 100 * jnp.sqrt(share * (1 - share) / len(labels))


def reseed(agent: Agent, key: Any) -> Agent:
    """Return the agent with other random numbers to come."""
    return agent._replace(key=key)


def judge(data: Data, agent: Agent, key: Any) -> tuple[Any, Any]:  # noqa: ARG001  (there is nothing to draw)
    """Return the accuracy on test images."""
    return accuracy(agent.weights, *data.judged)


def learner() -> Learner:
    """Return the network on Fashion-MNIST.

    Raises:
        DataError: when the images were not fetched; it says how.
    """
    data = split(load_images("fashion-mnist"))
    return Learner(SPACE, partial(init, data), partial(step, data), reseed, partial(judge, data))
