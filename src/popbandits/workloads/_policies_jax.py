"""Networks and policies as pure functions of JAX, for `ppo_jax`.

O observation    A action
"""

from typing import Any, NamedTuple

from popbandits.workloads._jax import jax, jnp

HIDDEN = 32

# The network: two hidden layers for the policy, two for the value.


def init_network(key: Any, inputs: int, outputs: int, last: float) -> list[dict[str, Any]]:
    """Return the layers of a net; `last` scales the last one."""
    sizes = [(inputs, HIDDEN, 2**0.5), (HIDDEN, HIDDEN, 2**0.5), (HIDDEN, outputs, last)]
    orthogonal = jax.nn.initializers.orthogonal
    return [
        {"w": orthogonal(gain)(k, (rows, columns), jnp.float32), "b": jnp.zeros(columns)}
        for k, (rows, columns, gain) in zip(jax.random.split(key, 3), sizes, strict=True)
    ]


def forward(layers: list[dict[str, Any]], x: Any) -> Any:
    """Return a net's output, (…, inputs) to (…, outputs)."""
    for layer in layers[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ layers[-1]["w"] + layers[-1]["b"]


# The policy: a normal distribution around a mean action, or chances of some actions.


class Continuous(NamedTuple):
    """Actions are numbers, A of them, within ±bound."""

    actions: int
    bound: float

    def draw(self, key: Any, out: Any, log_std: Any) -> Any:
        """Return an action."""
        return out + jnp.exp(log_std) * jax.random.normal(key, out.shape)

    def best(self, key: Any, out: Any) -> Any:  # noqa: ARG002  (the other kind draws)
        """Return the mean action."""
        return out

    def log_chance(self, out: Any, log_std: Any, action: Any) -> Any:
        """Return the log-density of actions."""
        z = (action - out) / jnp.exp(log_std)
        return (-0.5 * (z**2 + jnp.log(2 * jnp.pi)) - log_std).sum(-1)

    def entropy(self, out: Any, log_std: Any) -> Any:
        """Return the entropy of the policy."""
        return (log_std + 0.5 * jnp.log(2 * jnp.pi * jnp.e)).sum() + 0.0 * out.sum(-1)

    def taken(self, action: Any) -> Any:
        """Return an action as the environment takes it."""
        return jnp.clip(action, -self.bound, self.bound)


class Discrete(NamedTuple):
    """One of A actions is chosen."""

    actions: int

    def draw(self, key: Any, out: Any, log_std: Any) -> Any:  # noqa: ARG002  (the other kind needs it)
        """Return an action."""
        return jax.random.categorical(key, out)

    def best(self, key: Any, out: Any) -> Any:
        """Return an action: there is no mean of them, so it is drawn."""
        return jax.random.categorical(key, out)

    def log_chance(self, out: Any, log_std: Any, action: Any) -> Any:  # noqa: ARG002
        """Return the log-chance of actions."""
        return jnp.take_along_axis(jax.nn.log_softmax(out), action[..., None], axis=-1)[..., 0]

    def entropy(self, out: Any, log_std: Any) -> Any:  # noqa: ARG002
        """Return the entropy of the policy."""
        log_chances = jax.nn.log_softmax(out)
        return -(jnp.exp(log_chances) * log_chances).sum(-1)

    def taken(self, action: Any) -> Any:
        """Return an action as the environment takes it."""
        return action
