"""PPO's network, loss and update, for `ppo`. The same network acts with numpy and learns with JAX.

T steps    N environments    O observation    A action
"""

from functools import partial
from typing import Any

import numpy as np

from popbandits.workloads._jax import jax, jnp, optax

MINIBATCH = 128
HIDDEN = 32
DISCOUNT = 0.99
VALUE_COST = 0.5
MAX_GRADIENT = 0.5

# The network: two hidden layers for the policy, two for the value. The same code acts (numpy) and learns (jax).


def init_weights(rng: np.random.Generator, observation: int, action: int) -> dict[str, Any]:
    """Return fresh weights: orthogonal-like scaled normals, small for the last policy layer."""

    def layer(inputs: int, outputs: int, gain: float) -> dict[str, Any]:
        q, _ = np.linalg.qr(rng.standard_normal((max(inputs, outputs), min(inputs, outputs))))
        w = q if inputs >= outputs else q.T
        return {"w": (gain * w[:inputs, :outputs]).astype(np.float32), "b": np.zeros(outputs, np.float32)}

    def net(outputs: int, gain: float) -> list[dict[str, Any]]:
        root2 = 2**0.5
        return [layer(observation, HIDDEN, root2), layer(HIDDEN, HIDDEN, root2), layer(HIDDEN, outputs, gain)]

    return {"policy": net(action, 0.01), "value": net(1, 1.0), "log_std": np.zeros(action, np.float32)}


def forward(xp: Any, layers: list[dict[str, Any]], x: Any) -> Any:
    """Return a net's output for observations, (…, O) to (…, outputs); xp is numpy or jax.numpy."""
    for layer in layers[:-1]:
        x = xp.tanh(x @ layer["w"] + layer["b"])
    return x @ layers[-1]["w"] + layers[-1]["b"]


def log_density(xp: Any, action: Any, mean: Any, log_std: Any) -> Any:
    """Return the log-density of actions under the policy, (…, A) to (…)."""
    z = (action - mean) / xp.exp(log_std)
    return -0.5 * (z**2 + xp.log(2 * xp.pi)).sum(-1) - log_std.sum()


# Learning: the clipped surrogate loss, Adam, and as many minibatches as there are.

optimiser = optax.chain(optax.clip_by_global_norm(MAX_GRADIENT), optax.scale_by_adam(eps=1e-5))


def loss(weights: Any, batch: dict[str, Any], clip: Any) -> Any:
    """Return PPO's clipped loss plus the value's squared error on a minibatch."""
    mean = forward(jnp, weights["policy"], batch["observation"])
    ratio = jnp.exp(log_density(jnp, batch["action"], mean, weights["log_std"]) - batch["log_density"])
    gain = batch["advantage"]
    surrogate = jnp.minimum(ratio * gain, jnp.clip(ratio, 1 - clip, 1 + clip) * gain)
    value = forward(jnp, weights["value"], batch["observation"])[..., 0]
    return -surrogate.mean() + VALUE_COST * ((value - batch["target"]) ** 2).mean()


@partial(jax.jit, donate_argnums=(0, 1))
def learn(
    weights: Any, moments: Any, buffer: dict[str, Any], order: Any, count: Any, rate: Any, clip: Any
) -> tuple[Any, Any]:
    """Return weights and optimiser after `count` minibatches; `order` has room for more (rows of MINIBATCH indices)."""

    def one(i: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        weights, moments = state
        batch = {name: column[order[i]] for name, column in buffer.items()}
        direction, moments = optimiser.update(jax.grad(loss)(weights, batch, clip), moments)
        return optax.apply_updates(weights, jax.tree.map(lambda d: -rate * d, direction)), moments

    learned: tuple[Any, Any] = jax.lax.fori_loop(0, count, one, (weights, moments))
    return learned


def advantages(rewards: Any, values: Any, terminated: Any, ended: Any, lam: float) -> Any:
    """Return generalised advantage estimates, T x N; `values` has one row more, of what followed the last step."""
    out = np.zeros_like(rewards)
    running = np.zeros(rewards.shape[1], np.float32)
    for t in range(len(rewards) - 1, -1, -1):
        surprise = rewards[t] + DISCOUNT * values[t + 1] * ~terminated[t] - values[t]
        running = surprise + DISCOUNT * lam * running * ~ended[t]
        out[t] = running
    return out
