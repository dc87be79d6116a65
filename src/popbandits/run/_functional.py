"""functional: a trainable made of pure functions over a tree of arrays."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from popbandits._types import Hparams
from popbandits.run._trainable import Trainable
from popbandits.run._trees import load_tree, save_tree


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
        >>> import numpy as np
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
        save_tree(self.state, path)

    def load(self, path: Path) -> None:
        self.state = load_tree(path, self.state)


class _Reseeded(_Functional):
    """A `functional` trainable whose state holds random numbers to come."""

    def __init__(self, state: Any, train: Any, reseeded: Callable[[Any, int], Any]) -> None:
        super().__init__(state, train)
        self._reseeded = reseeded

    def reseed(self, seed: int) -> None:
        self.state = self._reseeded(self.state, seed)
