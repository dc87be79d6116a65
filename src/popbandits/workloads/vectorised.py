"""PPO in JAX as functional trainables, for `Vectorised()`: `popbandits run ppo-jax/Pendulum-v1 --executor vectorised`.

The environments are gymnax's: classic control, and MinAtar, in which Breakout and Space Invaders are ten pixels wide.
"""

from typing import Any

from popbandits.run import Functional, functional
from popbandits.workloads import PPO_JAX_TASKS
from popbandits.workloads._jax import jax, jnp
from popbandits.workloads._learner import Learner


def as_functional(learner: Learner) -> Functional:
    """Return a learner as a functional trainable: random keys are kept as the numbers that they are made of."""
    like = jax.eval_shape(learner.init, jax.random.key(0))
    is_key = jax.tree.map(lambda leaf: jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key), like)

    def plain(state: Any) -> Any:
        return jax.tree.map(lambda key, leaf: jax.random.key_data(leaf) if key else leaf, is_key, state)

    def keyed(state: Any) -> Any:
        return jax.tree.map(lambda key, leaf: jax.random.wrap_key_data(leaf) if key else leaf, is_key, state)

    def init(seed: int) -> Any:
        return plain(learner.init(jax.random.key(seed)))

    def step(state: Any, hparams: Any) -> tuple[Any, Any]:
        after, metrics = learner.step(keyed(state), hparams)
        return plain(after), metrics

    def reseed(state: Any, seed: Any) -> Any:
        return plain(learner.reseed(keyed(state), jax.random.key(seed)))

    return functional(init, step, reseed, space=learner.space)


def __getattr__(name: str) -> Functional:
    environments = {trainable: environment for environment, trainable in PPO_JAX_TASKS.items()}
    if name not in environments:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from popbandits.workloads.ppo_jax import learner

    globals()[name] = found = as_functional(learner(environments[name]))
    return found
