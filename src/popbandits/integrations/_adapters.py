"""What adapters of training frameworks share: the length of an interval, and the name of the class that they make."""

import sys
from collections.abc import Callable
from typing import Any

from popbandits._errors import OptionError


def check_count(name: str, count: Any) -> None:
    """Refuse an interval of no length.

    Raises:
        OptionError: unless it is a whole number, 1 at least.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise OptionError(f"`{name} >= 1` must hold, but got {name}={count!r}")


def named_after(agent: Any, make: Callable[..., Any]) -> Any:
    """Give a class the name of the call that made it, and the module of whoever called the adapter.

    That is where the user binds it to a name, so that a worker can import it. It need not be where `make` is.
    """
    agent.__module__ = sys._getframe(2).f_globals["__name__"]
    agent.__qualname__ = f"trainable({make.__name__})"
    return agent
