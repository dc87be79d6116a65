"""functional: a trainable made of pure functions over a tree of arrays, and how its state is saved."""

import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from popbandits._errors import TrainableError
from popbandits._types import Hparams
from popbandits.run._trainable import Trainable


@dataclass(frozen=True)
class Functional:
    """A trainable of pure functions; call it with a seed. See `functional`."""

    init: Callable[..., Any]
    train: Callable[[Any, Hparams], tuple[Any, Any]]
    reseeded: Callable[[Any, int], Any] | None = None
    space: Any = None

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Those that were given."""
        return (self.init, self.train) if self.reseeded is None else (self.init, self.train, self.reseeded)

    def __call__(self, seed: int, **config: Any) -> Trainable:
        state = self.init(seed, **config)
        if self.reseeded is None:
            return _Functional(state, self.train)
        return _Reseeded(state, self.train, self.reseeded)


def functional(
    init: Callable[..., Any],
    step: Callable[[Any, Hparams], tuple[Any, Any]],
    reseed: Callable[[Any, int], Any] | None = None,
    space: Any = None,
) -> Functional:
    """Return a trainable of pure functions over a tree of arrays: dicts, lists and tuples of arrays and numbers.

    Args:
        init: from a seed, and the settings in `config` if there are any, to the state.
        step: from the state and the hparams to the next state and the score (or a dict of metrics).
        reseed: from the state and a seed to the state with other random numbers to come. Give it when the state holds a
            random key: without it an agent that copies another draws the same numbers as its donor.
        space: what each hyperparameter may be, for the command line; `tune` is given it itself.

    Examples:
        >>> def init(seed): return {"w": np.array(3.0)}
        >>> def step(state, hparams): return {"w": state["w"] * (1 - hparams["lr"])}, -float(state["w"] ** 2)
        >>> functional(init, step)(0).step({"lr": 0.5})
        -9.0
    """
    return Functional(init, step, reseed, space)


class _Functional:
    """The state of a `functional` trainable; saved as one .npz and the tree as JSON, never as a pickle."""

    def __init__(self, state: Any, train: Callable[[Any, Hparams], tuple[Any, Any]]) -> None:
        self.state, self.train = state, train

    def step(self, hparams: Hparams) -> Any:
        self.state, result = self.train(self.state, hparams)
        return result

    def save(self, path: Path) -> None:
        leaves: list[np.ndarray[Any, Any]] = []
        tree = _tree(self.state, leaves)
        np.savez(path / "leaves.npz", **{str(i): leaf for i, leaf in enumerate(leaves)})  # type: ignore[arg-type]
        (path / "tree.json").write_text(json.dumps(tree))

    def load(self, path: Path) -> None:
        with np.load(path / "leaves.npz", allow_pickle=False) as leaves:
            # The state at hand tells what the saved one must be like: which tuples have names, which arrays are JAX's.
            self.state = _untree(json.loads((path / "tree.json").read_text()), leaves, self.state)


class _Reseeded(_Functional):
    """A `functional` trainable whose state holds random numbers to come."""

    def __init__(self, state: Any, train: Any, reseeded: Callable[[Any, int], Any]) -> None:
        super().__init__(state, train)
        self._reseeded = reseeded

    def reseed(self, seed: int) -> None:
        self.state = self._reseeded(self.state, seed)


def _tree(node: Any, leaves: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(node, dict):
        return {"dict": [[key, _tree(child, leaves)] for key, child in node.items()]}
    if isinstance(node, (list, tuple)):
        return {type(node).__name__ if type(node) in (list, tuple) else "tuple": [_tree(c, leaves) for c in node]}
    if node is None or isinstance(node, (str, bool, int, float)):
        return {"value": node}
    try:
        array = np.asarray(node)
    except TypeError:
        array = np.array(None)
    if array.dtype == object:
        raise TrainableError(f"a functional state holds arrays, numbers and strings, but got {type(node).__name__}")
    leaves.append(array)
    return {"leaf": len(leaves) - 1}


def _untree(node: Any, leaves: Mapping[str, Any], like: Any) -> Any:
    ((kind, inner),) = node.items()
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
    array = leaves[str(inner)]
    if array.dtype.kind == "V" and hasattr(like, "dtype"):
        array = array.view(like.dtype)  # numpy's files do not know bfloat16 by name
    if type(like).__module__.startswith("jax"):
        return importlib.import_module("jax.numpy").asarray(array)
    return array
