"""A learner: training as pure JAX functions of one agent, so that a population of them can be compiled as one call."""

from collections.abc import Callable
from typing import Any, NamedTuple

from popbandits.space import Space

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
