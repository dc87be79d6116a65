"""A tree of arrays on disk: the leaves as one .npz, the tree as JSON, never a pickle.

A folder holds the state of one agent, or of a whole population: then every leaf has a first axis, the agents, and the
path of one agent is the folder's with `agent-0003` behind it.
"""

import importlib
import json
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from popbandits._errors import RunError, TrainableError

_LEAVES, _TREE = "leaves.npz", "tree.json"
_AGENT = re.compile(r"agent-(\d{4,})")


def save_tree(state: Any, path: Path) -> None:
    """Write a state into a folder that exists."""
    leaves: list[np.ndarray[Any, Any]] = []
    tree = _tree(state, leaves)
    np.savez(path / _LEAVES, **{str(i): leaf for i, leaf in enumerate(leaves)})  # type: ignore[arg-type]
    (path / _TREE).write_text(json.dumps(tree))


def load_tree(path: Path, like: Any) -> Any:
    """Return the state that was written.

    Args:
        path: the folder.
        like: a state that tells what the saved one must be like: which tuples have names, which arrays are JAX's.
    """
    with np.load(path / _LEAVES, allow_pickle=False) as leaves:
        return _untree(json.loads((path / _TREE).read_text()), lambda i: leaves[str(i)], like)


def is_part(path: Path) -> bool:
    """Return whether this is the path of one agent in the checkpoint of a whole population."""
    return _AGENT.fullmatch(path.name) is not None and not path.exists() and (path.parent / _LEAVES).is_file()


def load_state(path: str | Path | None, like: Any = None) -> Any:
    """Return the state of one agent of a `functional` trainable, from a checkpoint such as `run.best.checkpoint`.

    Args:
        path: of the checkpoint.
        like: a state as `init` makes it, for named tuples and JAX arrays; without it, it is tuples and numpy arrays.

    Raises:
        RunError: when there is no such checkpoint.
    """
    if path is None:
        raise RunError("this report has no checkpoint: checkpoint_every says after which intervals there is one")
    folder = Path(path)
    found = _AGENT.fullmatch(folder.name)
    try:
        if found is None or (folder / _LEAVES).exists():
            return load_tree(folder, like)
        with np.load(folder.parent / _LEAVES, allow_pickle=False) as leaves:
            tree = json.loads((folder.parent / _TREE).read_text())
            return _untree(tree, lambda i: leaves[str(i)][int(found[1])], like)
    except (OSError, KeyError, ValueError, IndexError) as error:
        raise RunError(f"there is no state of a functional trainable at {folder}: {error}") from None


def _tree(node: Any, leaves: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(node, dict):
        return {"dict": [[key, _tree(child, leaves)] for key, child in node.items()]}
    if isinstance(node, (list, tuple)):
        return {type(node).__name__ if type(node) in (list, tuple) else "tuple": [_tree(c, leaves) for c in node]}
    if node is None or isinstance(node, (str, bool, int, float)):
        return {"value": node}
    if is_dataclass(node) and not isinstance(node, type):
        return {"dict": [[part.name, _tree(getattr(node, part.name), leaves)] for part in fields(node)]}
    try:
        array = np.asarray(node)
    except TypeError:
        array = np.array(None)
    if array.dtype == object:
        raise TrainableError(f"a functional state holds arrays, numbers and strings, but got {type(node).__name__}")
    leaves.append(array)
    return {"leaf": len(leaves) - 1}


def _untree(node: Any, leaves: Callable[[int], Any], like: Any) -> Any:
    ((kind, inner),) = node.items()
    if like is None and kind in ("dict", "list", "tuple"):
        if kind == "dict":
            return {key: _untree(child, leaves, None) for key, child in inner}
        children = [_untree(child, leaves, None) for child in inner]
        return children if kind == "list" else tuple(children)
    if kind == "dict" and is_dataclass(like) and not isinstance(like, type):
        return replace(like, **{key: _untree(child, leaves, getattr(like, key)) for key, child in inner})
    if kind == "dict":
        if not isinstance(like, dict) or {key for key, _ in inner} != set(like):
            raise TrainableError(f"the saved state has the names {[key for key, _ in inner]}, but init makes {like!r}")
        return {key: _untree(child, leaves, like[key]) for key, child in inner}
    if kind in ("list", "tuple"):
        if not isinstance(like, (list, tuple)) or len(like) != len(inner):
            raise TrainableError(f"the saved state has {len(inner)} parts where init makes {like!r}")
        children = [_untree(child, leaves, part) for child, part in zip(inner, like, strict=True)]
        if hasattr(like, "_fields"):
            return type(like)(*children)
        return children if kind == "list" else tuple(children)
    if kind == "value":
        return inner
    array = leaves(inner)
    if array.dtype.kind == "V" and hasattr(like, "dtype"):
        array = array.view(like.dtype)  # numpy's files do not know bfloat16 by name
    if type(like).__module__.startswith("jax"):
        return importlib.import_module("jax.numpy").asarray(array)
    return array
