"""A small network in JAX that learns which of two circles a point is in: what `benchmarks.vectorised` trains."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import popbandits as pb

SPACE = {"lr": pb.Float(1e-3, 3.0, log=True), "decay": pb.Float(0.0, 0.1)}
STEPS, HIDDEN, POINTS = 50, 64, 128

_rng = np.random.default_rng(0)
_POINTS = _rng.normal(size=(POINTS, 2)).astype(np.float32)
_INSIDE = (np.square(_POINTS).sum(1) < 1.0).astype(np.float32)


def init(seed: int) -> dict[str, Any]:
    """Return two layers."""
    first, second = jax.random.split(jax.random.key(seed))
    return {"in": jax.random.normal(first, (2, HIDDEN)), "out": 0.1 * jax.random.normal(second, (HIDDEN, 1))}


def _loss(layers: Any) -> Any:
    logits = (jnp.tanh(_POINTS @ layers["in"]) @ layers["out"])[:, 0]
    return jnp.mean(jnp.logaddexp(0.0, logits) - _INSIDE * logits)


def step(layers: Any, hparams: Mapping[str, Any]) -> tuple[Any, Any]:
    """Train one interval, of one agent."""

    def update(layers: Any, _: None) -> tuple[Any, None]:
        slopes = jax.grad(_loss)(layers)
        return jax.tree.map(lambda w, g: w - hparams["lr"] * (g + hparams["decay"] * w), layers, slopes), None

    layers, _ = jax.lax.scan(update, layers, length=STEPS)
    return layers, -_loss(layers)


_compiled = jax.jit(step)


def step_of_one(layers: Any, hparams: Mapping[str, Any]) -> tuple[Any, float]:
    """Train one interval of one agent, compiled: what a worker process runs."""
    layers, score = _compiled(layers, dict(hparams))
    return layers, float(score)


Mapped = pb.functional(init, step)
Alone = pb.functional(init, step_of_one)
