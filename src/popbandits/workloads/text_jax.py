"""A character-level transformer on the help texts that Python ships, as pure functions of one agent.

One block of attention and a feed-forward layer, trained by Adam to predict the next character. An interval is STEPS
minibatches. Its score is minus the loss on a text that is not trained on, in bits a character; scoring the same weights
again gives the same number, so there is no `score_error`. A finished model is judged on a third text.
"""

import hashlib
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from popbandits.space import Float, Space
from popbandits.workloads._jax import jax, jnp
from popbandits.workloads._learner import Learner, mean_and_error

CONTEXT, WIDTH, HEADS = 32, 32, 2
SYMBOLS = 96  # printable ASCII, and one for a new line
STEPS, BATCH = 40, 8
SCORED, JUDGED = 64, 256  # windows of CONTEXT characters
SECOND_MOMENT = 0.99

SPACE = Space(
    {
        "lr": Float(1e-4, 1e-1, log=True),
        "momentum": Float(0.0, 0.99),
        "weight_decay": Float(1e-4, 1.0, log=True),
        "dropout": Float(0.0, 0.5),
    }
)


@cache
def symbols() -> Any:
    """Return Python's help texts as numbers from 0 to SYMBOLS - 1."""
    from pydoc_data.topics import topics

    text = "\n".join(topics[name] for name in sorted(topics))
    codes = np.frombuffer(text.encode("ascii", "ignore"), np.uint8)
    codes = codes[((codes >= 32) & (codes < 127)) | (codes == 10)]
    return np.where(codes == 10, 95, codes - 32).astype(np.int32)


def fingerprint() -> str:
    """Return what tells the texts of one version of Python from those of another."""
    return hashlib.sha256(symbols().tobytes()).hexdigest()[:12]


class Data(NamedTuple):
    """A text to train on, and windows to score and to judge by, n x (CONTEXT + 1)."""

    train: Any
    scored: Any
    judged: Any


class Agent(NamedTuple):
    """All that an agent is; `faded` are the products of all decays, for Adam's bias."""

    weights: Any
    first: Any
    second: Any
    faded: Any
    key: Any


def split(text: Any) -> Data:
    """Return eight tenths to train on, one to score by and one to judge by."""
    first, second = len(text) * 8 // 10, len(text) * 9 // 10

    def windows(part: Any, count: int) -> Any:
        starts = np.linspace(0, len(part) - CONTEXT - 1, count).astype(int)
        return jnp.asarray(part[starts[:, None] + np.arange(CONTEXT + 1)])

    return Data(jnp.asarray(text[:first]), windows(text[first:second], SCORED), windows(text[second:], JUDGED))


def normalised(x: Any, scale: Any) -> Any:
    """Return vectors of mean 0 and deviation 1, times a learned scale."""
    off = x - x.mean(-1, keepdims=True)
    return scale * off / jnp.sqrt((off**2).mean(-1, keepdims=True) + 1e-5)


def forward(weights: Any, text: Any, drop: Any = lambda x: x) -> Any:
    """Return logits of the next symbols, n x CONTEXT x SYMBOLS, for n windows."""
    x = drop(weights["symbols"][text] + weights["places"])
    n = len(text)
    seen = normalised(x, weights["scale_1"]) @ weights["attend"]
    query, key, value = (part.reshape(n, CONTEXT, HEADS, -1) for part in jnp.split(seen, 3, axis=-1))
    fit = jnp.einsum("nqhd,nkhd->nhqk", query, key) / (WIDTH / HEADS) ** 0.5
    fit = jnp.where(jnp.tril(jnp.ones((CONTEXT, CONTEXT), bool)), fit, -1e9)
    mixed = jnp.einsum("nhqk,nkhd->nqhd", jax.nn.softmax(fit), value).reshape(n, CONTEXT, WIDTH)
    x = x + drop(mixed @ weights["mix"])
    hidden = jax.nn.gelu(normalised(x, weights["scale_2"]) @ weights["into"])
    x = x + drop(hidden @ weights["back"])
    return normalised(x, weights["scale_3"]) @ weights["out"]


def bits(weights: Any, windows: Any, drop: Any = lambda x: x) -> Any:
    """Return the loss of each window, in bits a character."""
    log_chances = jax.nn.log_softmax(forward(weights, windows[:, :-1], drop))
    chosen = jnp.take_along_axis(log_chances, windows[:, 1:, None], axis=-1)[..., 0]
    return -chosen.mean(1) / jnp.log(2)


def init(data: Data, key: Any) -> Agent:  # noqa: ARG001  (all learners' functions have the data first)
    """Return an untrained agent."""
    shapes = {
        "symbols": (SYMBOLS, WIDTH),
        "places": (CONTEXT, WIDTH),
        "attend": (WIDTH, 3 * WIDTH),
        "mix": (WIDTH, WIDTH),
        "into": (WIDTH, 4 * WIDTH),
        "back": (4 * WIDTH, WIDTH),
        "out": (WIDTH, SYMBOLS),
    }
    *keys, key = jax.random.split(key, len(shapes) + 1)
    weights = {
        name: jax.random.normal(k, shape) * shape[0] ** -0.5
        for k, (name, shape) in zip(keys, shapes.items(), strict=True)
    }
    weights |= {f"scale_{i}": jnp.ones(WIDTH) for i in (1, 2, 3)}
    zeros = jax.tree.map(jnp.zeros_like, weights)
    return Agent(weights, zeros, zeros, jnp.ones(2), key)


def step(data: Data, agent: Agent, hparams: dict[str, Any]) -> tuple[Agent, dict[str, Any]]:
    """Train STEPS minibatches; the score is minus the loss on the text kept apart."""
    key, train = jax.random.split(agent.key)
    decays = jnp.stack([hparams["momentum"], jnp.float32(SECOND_MOMENT)])
    kept = 1 - hparams["dropout"]

    def one(agent: Agent, key: Any) -> Any:
        draw, *drops = jax.random.split(key, 4)
        starts = jax.random.randint(draw, (BATCH, 1), 0, len(data.train) - CONTEXT - 1)
        windows = data.train[starts + jnp.arange(CONTEXT + 1)]

        def mean(weights: Any) -> Any:
            keys = iter(drops)
            return bits(weights, windows, lambda x: x * jax.random.bernoulli(next(keys), kept, x.shape) / kept).mean()

        slope = jax.grad(mean)(agent.weights)
        first = jax.tree.map(lambda m, g: decays[0] * m + (1 - decays[0]) * g, agent.first, slope)
        second = jax.tree.map(lambda m, g: decays[1] * m + (1 - decays[1]) * g**2, agent.second, slope)
        faded = agent.faded * decays
        unbiased = 1 - faded

        def move(w: Any, m: Any, v: Any) -> Any:
            direction = (m / unbiased[0]) / (jnp.sqrt(v / unbiased[1]) + 1e-8)
            return w - hparams["lr"] * (direction + hparams["weight_decay"] * w)

        return Agent(jax.tree.map(move, agent.weights, first, second), first, second, faded, agent.key), None

    agent, _ = jax.lax.scan(one, agent, jax.random.split(train, STEPS))
    return agent._replace(key=key), {"score": -bits(agent.weights, data.scored).mean()}


def reseed(agent: Agent, key: Any) -> Agent:
    """Return the agent with other random numbers to come."""
    return agent._replace(key=key)


def judge(data: Data, agent: Agent, key: Any) -> tuple[Any, Any]:  # noqa: ARG001  (there is nothing to draw)
    """Return minus the loss on the third text, and its standard error over windows."""
    return mean_and_error(-bits(agent.weights, data.judged))


def learner() -> Learner:
    """Return the transformer on Python's help texts."""
    data = split(symbols())
    return Learner(SPACE, partial(init, data), partial(step, data), reseed, partial(judge, data))
