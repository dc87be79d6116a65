"""Options of strategies: checked when they are given, with the sentence a user needs."""

import difflib
import functools
import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from popbandits._errors import OptionError

T = TypeVar("T", bound=type)


def options(cls: T) -> T:
    """Make a frozen dataclass refuse an unknown option with an OptionError that names the nearest known one."""
    init: Callable[..., None] = cls.__init__  # type: ignore[misc]
    known = [field.name for field in fields(cls)]

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **given: Any) -> None:
        if args:
            raise OptionError(f"{cls.__name__} takes its options by name ({', '.join(known)}), but got {args!r}")
        check_names(cls.__name__, given, known)
        init(self, **given)

    cls.__init__ = checked  # type: ignore[misc]
    return cls


def check_names(owner: str, given: Iterable[str], known: Collection[str]) -> None:
    """Refuse names that are not known."""
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known) or 'none'}"
            raise OptionError(f"{owner} has no option {name!r}; {hint}")


def check_number(owner: Any, name: str, low: float, high: float, *, whole: bool = False) -> None:
    """Refuse an option that is not a number in [low, high]."""
    value = getattr(owner, name)
    if isinstance(value, np.generic):
        value = value.item()
        object.__setattr__(owner, name, value)
    kinds = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
        kind = "a whole number" if whole else "a number"
        upper = "" if math.isinf(high) else f" and at most {high:g}"
        raise OptionError(f"{name} must be {kind} of at least {low:g}{upper}, but got {value!r}")
