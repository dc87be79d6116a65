"""Trainable: the contract with the user's code, and what is checked before anything is trained."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from popbandits._errors import TrainableError
from popbandits._types import Hparams


class Trainable(Protocol):
    """A model that can be trained for an interval, saved and loaded.

    It may also have two methods more. `reseed(self, seed)` is called after another agent's checkpoint was loaded, so
    that the copy draws other random numbers than its donor. What `hparams_in_effect(self) -> dict` returns after a step
    is compared with what was asked.
    """

    def step(self, hparams: Hparams) -> Any:
        """Train one interval with these hparams; return the score, or a dict of metrics.

        Among the metrics, `score_error` is the standard error of the score, where that is known.
        """

    def save(self, path: Path) -> None:
        """Write everything that training needs to go on into the folder `path`, which exists and is empty."""

    def load(self, path: Path) -> None:
        """Become what was saved in the folder `path`."""


Factory = Callable[[int], Trainable]
"""Makes a trainable with fresh weights from a seed: a class, or what `functional` returns."""


def check_methods(factory: Any) -> None:
    """Refuse a class that lacks a method of a trainable."""
    if not isinstance(factory, type):
        hint = "pass the class, not an instance"
        if inspect.isfunction(factory):
            hint = "popbandits.functional(init, step) makes one of two functions"
        elif isinstance(factory, functools.partial):
            hint = "give it its settings in a subclass, as attributes"
        raise TrainableError(f"a trainable is a class, but got {factory!r}; {hint}")
    for method in ("step", "save", "load"):
        if not callable(getattr(factory, method, None)):
            raise TrainableError(f"a trainable has step, save and load, but {factory.__name__} has no {method}")
    try:
        inspect.signature(factory).bind(0)
    except TypeError:
        raise TrainableError(f"a trainable is made with a seed, but {factory.__name__}(0) cannot be called") from None
    except ValueError:
        pass  # made in C: it says nothing of its arguments
