"""JAX: a trainable of two pure functions, with Flax NNX for the network and optax for the optimiser.

`pb.functional` keeps the state, which is a tree of arrays, and saves it without a pickle. Hyperparameters are traced:
a new learning rate does not compile anything again.

Run it: python examples/jax_functions.py
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

import popbandits as pb

SPACE = {"lr": pb.Float(1e-4, 1.0, log=True), "noise": pb.Float(0.0, 0.5)}
STEPS, BATCH = 200, 32


def network(seed: int) -> nnx.Module:
    rngs = nnx.Rngs(seed)
    return nnx.Sequential(nnx.Linear(2, 32, rngs=rngs), jax.nn.tanh, nnx.Linear(32, 1, rngs=rngs))


GRAPH = nnx.split(network(0))[0]


def spiral(key: jax.Array, count: int) -> tuple[jax.Array, jax.Array]:
    """Return points on two arms of a spiral, and which arm each is on."""
    where, arm = jax.random.split(key)
    t, side = jax.random.uniform(where, (count,)), jax.random.bernoulli(arm, shape=(count,))
    angle = 6.0 * t + jnp.pi * side
    return jnp.stack([t * jnp.cos(angle), t * jnp.sin(angle)], axis=1), side.astype(float)


def loss(weights: Any, points: jax.Array, side: jax.Array) -> jax.Array:
    logits = nnx.merge(GRAPH, weights)(points)[:, 0]
    return optax.sigmoid_binary_cross_entropy(logits, side).mean()


@partial(jax.jit, donate_argnums=0)
def interval(state: Any, lr: jax.Array, noise: jax.Array) -> tuple[Any, jax.Array]:
    optimiser = optax.adam(lr)

    def update(carry: Any, _: None) -> tuple[Any, None]:
        weights, moments, key = carry
        key, data, blur = jax.random.split(key, 3)
        points, side = spiral(data, BATCH)
        points += noise * jax.random.normal(blur, points.shape)
        steps, moments = optimiser.update(jax.grad(loss)(weights, points, side), moments)
        return (optax.apply_updates(weights, steps), moments, key), None

    (weights, moments, key), _ = jax.lax.scan(update, state, length=STEPS)
    return (weights, moments, key), -loss(weights, *spiral(jax.random.key(1), 512))


def init(seed: int) -> dict[str, Any]:
    weights = nnx.to_pure_dict(nnx.split(network(seed))[1])
    moments = optax.adam(0.1).init(weights)
    return {"weights": weights, "moments": moments, "key": jax.random.key_data(jax.random.key(seed))}


def step(state: dict[str, Any], hparams: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
    carry = state["weights"], state["moments"], jax.random.wrap_key_data(state["key"])
    (weights, moments, key), score = interval(carry, hparams["lr"], hparams["noise"])
    return {"weights": weights, "moments": moments, "key": jax.random.key_data(key)}, float(score)


def reseed(state: dict[str, Any], seed: int) -> dict[str, Any]:
    return state | {"key": jax.random.key_data(jax.random.key(seed))}  # a copy draws other data than its donor


Agent = pb.functional(init, step, reseed)

if __name__ == "__main__":
    run = pb.tune(Agent, SPACE, population=4, intervals=10)
    print(f"score {run.best.score:.3f} with {run.best.hparams}")

# Its last line of output, which differs a little from machine to machine:
# score -0.013 with {'lr': 0.15547742658312724, 'noise': 0.004552532232558663}
