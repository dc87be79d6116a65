"""What adapters of training frameworks share: the length of an interval, and the class that they make."""

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

from popbandits._errors import OptionError


def check_count(name: str, count: Any) -> None:
    """Refuse an interval of no length.

    Raises:
        OptionError: unless it is a whole number, 1 at least.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise OptionError(f"`{name} >= 1` must hold, but got {name}={count!r}")


def made_of(agent: Any, *makers: Callable[..., Any], seeded: bool) -> Any:
    """Make a class look like the user's functions that it calls: the name of the first, and the settings of all.

    Its module is that of whoever called the adapter. There the user binds the class to a name, so that a worker can
    import it. It need not be where the functions are.

    Args:
        agent: the class.
        makers: the functions, classes or partials of them.
        seeded: whether their first argument is the seed.
    """
    made = makers[0]
    while isinstance(made, functools.partial):
        made = made.func
    agent.__module__ = sys._getframe(2).f_globals["__name__"]
    agent.__qualname__ = f"trainable({getattr(made, '__name__', type(made).__name__)})"
    seed = inspect.Parameter("seed", inspect.Parameter.POSITIONAL_ONLY)
    taken = {name: found for make in makers for name, found in _settings(make, seeded=seeded).items()}
    agent.__signature__ = inspect.Signature([seed, *sorted(taken.values(), key=lambda found: found.kind)])
    return agent


def taken_by(make: Callable[..., Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of the user's settings that a function without a seed takes."""
    settings = _settings(make, seeded=False)
    anything = any(found.kind is inspect.Parameter.VAR_KEYWORD for found in settings.values())
    return {name: value for name, value in config.items() if anything or name in settings}


def _settings(make: Callable[..., Any], *, seeded: bool) -> dict[str, inspect.Parameter]:
    """Return what a function can be given by name, beside the seed."""
    try:
        found = list(inspect.signature(make).parameters.values())[1 if seeded else 0 :]
    except ValueError:
        return {}  # made in C: it says nothing of its arguments
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = {p.name: p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in found if p.kind in by_name}
    return named | {p.name: p for p in found if p.kind is inspect.Parameter.VAR_KEYWORD}
