"""Trainable: the contract with the user's code, and what is checked before anything is trained."""

import functools
import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
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


Factory = Callable[..., Trainable]
"""Makes a trainable with fresh weights from a seed and the user's own settings: a class, a function, or what
`functional` returns."""


def check_factory(factory: Any, config: Mapping[str, Any] | None) -> None:
    """Refuse what cannot make a trainable: a class that lacks a method, or arguments that do not fit.

    Args:
        factory: a class, a function, or a `functools.partial` of one.
        config: the settings that it is called with, beside the seed; None when they are not known yet.

    Raises:
        TrainableError: with what is wrong.
    """
    made = factory
    while isinstance(made, functools.partial):
        made = made.func
    if not callable(made) or (not isinstance(made, type) and hasattr(made, "step")):
        raise TrainableError(f"a trainable is a class, but got {factory!r}; pass the class, not an instance")
    name = getattr(made, "__name__", repr(made))
    if isinstance(made, type):
        check_methods(made, name)
    if config is None:
        return
    try:
        signature = inspect.signature(factory)
    except ValueError:
        if isinstance(factory, functools.partial):
            _check_partial(factory, name)
        return  # made in C: it says nothing of its arguments
    try:
        signature.bind(0)
    except TypeError:
        if not config:
            hint = "" if isinstance(made, type) else "; popbandits.functional(init, step) makes one of two functions"
            raise TrainableError(f"a trainable is made with a seed, but {name}(0) cannot be called{hint}") from None
    try:
        signature.bind(0, **config)
    except TypeError as error:
        taken = ", ".join(list(signature.parameters)[1:]) or "none"
        raise TrainableError(f"{name} cannot be made with this config: {error}; its settings are: {taken}") from None


def _check_partial(factory: "functools.partial[Any]", name: str) -> None:
    """Refuse a partial with arguments that its function does not take, where they can be known."""
    with suppress(ValueError):
        signature = inspect.signature(factory.func)
        try:
            signature.bind_partial(*factory.args, **factory.keywords)
        except TypeError as error:
            taken = ", ".join(signature.parameters) or "none"
            raise TrainableError(f"{name} cannot be made with its partial: {error}; it takes: {taken}") from None


def check_methods(made: Any, name: str) -> None:
    """Refuse a class, or something made by a function, that lacks a method of a trainable."""
    for method in ("step", "save", "load"):
        if not callable(getattr(made, method, None)):
            raise TrainableError(f"a trainable has step, save and load, but {name} has no {method}")
