"""Whether one hyperparameter alone changes what an agent learns."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np


def changes_what_is_learned(make: Callable[[int], Any], hparams: dict[str, Any], name: str, value: float) -> bool:
    """Train three agents of one seed for an interval: two alike, which must agree, and one with another value."""
    agents = [make(1) for _ in range(3)]
    for agent, given in zip(agents, (hparams, hparams, hparams | {name: value}), strict=True):
        agent.step(given)
    one, same, other = ([np.array(leaf) for leaf in jax.tree.leaves(agent.weights)] for agent in agents)
    assert all(np.array_equal(a, b) for a, b in zip(one, same, strict=True))
    return not all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
