"""A learner: training as pure JAX functions of one agent, so that a population of them can be compiled as one call."""

from collections.abc import Callable
from typing import Any, NamedTuple

from popbandits.space import Space
from popbandits.workloads._jax import jax, jnp

State = Any
"""All that an agent is: a tree of arrays."""


class Learner(NamedTuple):
    """Functions of one agent; `jax.vmap` makes them functions of many.

    Args:
        space: what may be learned; each hyperparameter reaches `step` as a traced number.
        init: from a random key to the state of an untrained agent.
        step: from a state and hparams to the state after one interval and its metrics: `score`, and `score_error` where
            scoring the same weights again could give another number.
        reseed: from a state and a random key to the state with other random numbers to come.
        judge: from a state and a random key to what the weights are worth on episodes or data that chose nothing: the
            mean and its standard error.
    """

    space: Space
    init: Callable[[Any], State]
    step: Callable[[State, dict[str, Any]], tuple[State, dict[str, Any]]]
    reseed: Callable[[State, Any], State]
    judge: Callable[[State, Any], tuple[Any, Any]]


def mean_and_error(values: Any) -> tuple[Any, Any]:
    """Return the mean of an array and its standard error."""
    return values.mean(), values.std(ddof=1) / len(values) ** 0.5


def all_finite(tree: Any) -> Any:
    """Return whether every number of a tree of arrays is finite; where one is not, training has diverged."""
    return jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(tree)]).all()
