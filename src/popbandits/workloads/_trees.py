"""Trees of arrays as named arrays, for files without pickle, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from popbandits.workloads._jax import jax


def named_leaves(tree: Any) -> dict[str, Any]:
    """Return the leaves of a tree as arrays with names."""
    return {f"learned-{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}


def with_leaves(tree: Any, arrays: Mapping[str, Any]) -> Any:
    """Return a tree of this one's form with the leaves that `named_leaves` named."""
    form = jax.tree.structure(tree)
    return jax.tree.unflatten(form, [arrays[f"learned-{i}"] for i in range(form.num_leaves)])
