"""A small network on scikit-learn's digits, whose optimiser is a Choice, to see whether PB2 learns which to use.

The weights are the network's and the state of every optimiser, in one vector, so that an agent may change to another
optimiser, and a copy with it. The score is minus the loss on images that are not trained on; 0 is as good as there is.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from popbandits._random import generator
from popbandits._types import Floats, Hparams
from popbandits.problems._problem import Weights
from popbandits.space import Choice, Float, Space

OPTIMISERS = ("sgd", "momentum", "adam")
_IN, _HIDDEN, _OUT = 64, 32, 10
_SHAPES = ((_IN, _HIDDEN), (1, _HIDDEN), (_HIDDEN, _OUT), (1, _OUT))
_SIZE = sum(rows * columns for rows, columns in _SHAPES)
_TRAINED, _BATCH = 1000, 50


@cache
def _images() -> tuple[Floats, Floats]:
    """Return pixels from 0 to 1, 1797 x 64, and the digits one-hot, 1797 x 10, in an order of their own."""
    from sklearn.datasets import load_digits

    loaded = load_digits()
    order = generator(0, "digits").permutation(len(loaded.target))
    return loaded.data[order] / 16.0, np.eye(_OUT)[loaded.target[order]]


@dataclass(frozen=True)
class Digits:
    """An interval is one pass over 1,000 images.

    Args:
        optimisers: among which to choose; one alone is no Choice.
        seed: of the first weights and of the order of images.
    """

    optimisers: tuple[str, ...] = OPTIMISERS
    seed: int = 0

    @cached_property
    def space(self) -> Space:
        rate = {"lr": Float(1e-4, 1.0, log=True)}
        return Space(rate | ({"optimiser": Choice(*self.optimisers)} if len(self.optimisers) > 1 else {}))

    def fresh(self, rng: np.random.Generator) -> Weights:
        own = generator(self.seed, "network")
        layers = [own.standard_normal(shape) / math.sqrt(shape[0]) * (shape[0] > 1) for shape in _SHAPES]
        network = np.concatenate([layer.ravel() for layer in layers])
        return np.concatenate([network, np.zeros(3 * _SIZE + 1)])  # momentum's velocity, Adam's moments and its steps

    def train(self, weights: Weights, hparams: Hparams, interval: int, rng: np.random.Generator) -> Weights:
        network, velocity, first, second = weights[:-1].copy().reshape(4, _SIZE)
        steps, rate = float(weights[-1]), float(hparams["lr"])
        optimiser = hparams.get("optimiser", self.optimisers[0])
        images, digits = _images()
        order = generator(self.seed, "order", interval).permutation(_TRAINED)
        for start in range(0, _TRAINED, _BATCH):
            batch = order[start : start + _BATCH]
            slope = _slope(network, images[batch], digits[batch])
            if optimiser == "adam":
                steps += 1
                first += 0.1 * (slope - first)
                second += 0.001 * (slope**2 - second)
                unbiased = np.sqrt(second / (1 - 0.999**steps)) + 1e-8
                network -= rate * first / (1 - 0.9**steps) / unbiased
            elif optimiser == "momentum":
                velocity *= 0.9
                velocity += slope
                network -= rate * velocity
            else:
                network -= rate * slope
        return np.concatenate([network, velocity, first, second, [steps]])

    def score(self, weights: Weights) -> float:
        images, digits = _images()
        *_, logits = _forward(weights[:_SIZE], images[_TRAINED:])
        return float((digits[_TRAINED:] * _log_softmax(logits)).sum(axis=1).mean())

    def optimum(self, intervals: int) -> float:
        return 0.0


def _layers(network: Floats) -> Iterator[Floats]:
    start = 0
    for rows, columns in _SHAPES:
        yield network[start : start + rows * columns].reshape(rows, columns)
        start += rows * columns


def _forward(network: Floats, images: Floats) -> tuple[Floats, Floats]:
    """Return the hidden units, m x 32, and the logits, m x 10."""
    into, shift, out, level = _layers(network)
    hidden = np.tanh(images @ into + shift)
    return hidden, hidden @ out + level


def _log_softmax(logits: Floats) -> Floats:
    off = logits - logits.max(axis=1, keepdims=True)
    log_odds: Floats = off - np.log(np.exp(off).sum(axis=1, keepdims=True))
    return log_odds


def _slope(network: Floats, images: Floats, digits: Floats) -> Floats:
    """Return the gradient of the mean cross-entropy, as long as the network."""
    hidden, logits = _forward(network, images)
    _, _, out, _ = _layers(network)
    error = (np.exp(_log_softmax(logits)) - digits) / len(images)
    inner = (error @ out.T) * (1 - hidden**2)
    parts = [images.T @ inner, inner.sum(axis=0), hidden.T @ error, error.sum(axis=0)]
    return np.concatenate([part.ravel() for part in parts])
