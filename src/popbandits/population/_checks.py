"""What is given to a population, checked: whole numbers, scores and their errors, and first hparams."""

import math
import operator
from collections.abc import Sequence
from typing import Any

from popbandits._errors import OptionError, ScoreError
from popbandits._types import Hparams
from popbandits.space import Space


def checked_initial(space: Space, size: int, given: Any) -> tuple[Hparams, ...]:
    """Return the hparams of the first agents, as the space has them; refuse too many, and what lies outside."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise OptionError(f"initial is a list of hparams, one dict for each of the first agents, but got {given!r}")
    if len(given) > size:
        raise OptionError(f"initial has hparams for {len(given)} agents, but there are {size}")
    for hparams in given:
        space.encode(hparams)  # refuses what lies outside
    return tuple(space.from_values(space.to_values(hparams)) for hparams in given)


def whole(name: str, value: Any, least: int) -> int:
    """Return a whole number that is large enough."""
    try:
        number = operator.index(value)
    except TypeError:
        raise OptionError(f"{name} must be a whole number, but got {value!r}") from None
    if number < least:
        raise OptionError(f"`{name} >= {least}` must hold, but got {name}={number}")
    return number


def checked_score(score: Any, agent: int) -> float:
    """Return a score as a float; nan and infinities stay what they are."""
    try:
        return _number(score)
    except (TypeError, ValueError, OverflowError):
        raise ScoreError(f"the score of agent {agent} must be a number, but got {score!r}") from None


def checked_error(score_error: Any, score: float, whose: str) -> float | None:
    """Return a standard error as a float, and None for None or for the error of a score that is not finite.

    Args:
        score_error: what was given.
        score: the score that it belongs to.
        whose: for the message.

    Raises:
        ScoreError: when it is negative, not finite or not a number.
    """
    if score_error is None or not math.isfinite(score):
        return None
    try:
        error = _number(score_error)
    except (TypeError, ValueError, OverflowError):
        error = math.nan
    if not 0 <= error < math.inf:
        raise ScoreError(
            f"the score_error of {whose} must be a finite number, 0 or above, but got {score_error!r}; "
            "leave it out where it is not known"
        )
    return error


def _number(given: Any) -> float:
    """Return a number, a numpy scalar or a 0-d array or tensor as a float; never a string that looks like one."""
    if isinstance(given, (str, bytes, bool, complex)) or getattr(given, "shape", ()) != ():
        raise TypeError
    if getattr(getattr(given, "dtype", None), "kind", "f") not in "iuf":
        raise TypeError
    return float(given)
