"""Float, Int and Choice: one hyperparameter each, with its way to [0, 1] and back.

Both ways are exact at the ends (low <-> 0, high <-> 1), never leave the bounds, and round to the nearest value.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from popbandits._errors import BoundsError, ChoiceError, HparamsError
from popbandits._types import Floats


class Param(Protocol):
    """What the space asks of a hyperparameter."""

    @property
    def n_values(self) -> float:
        """How many values it can take (infinity for a Float)."""

    def to_unit(self, value: Any) -> float:
        """Return where a value lies in [0, 1]."""

    def from_unit(self, u: float) -> Any:
        """Return the value at u in [0, 1]."""

    def snap(self, u: Floats) -> Floats:
        """Return where the values at u lie: `to_unit(from_unit(u))` of a whole column at once."""

    def sample(self, rng: np.random.Generator) -> Any:
        """Draw a value, uniform on the parameter's own scale."""


_SHOWN = 30  # values of a Choice that an error names


@dataclass(frozen=True)
class Float:
    """A real number between two bounds, both included.

    Args:
        low, high: the bounds, in the user's units.
        log: search on a logarithmic scale (learning rates).
        logit: search on a logistic scale, for numbers that crowd towards 0 and 1 (discount factors).

    Raises:
        BoundsError: unless low <= high, both finite; low > 0 with log; 0 < low and high < 1 with logit.

    Examples:
        >>> Float(1e-5, 1e-3, log=True).from_unit(0.5)
        0.0001
    """

    low: float
    high: float
    log: bool = False
    logit: bool = False

    def __post_init__(self) -> None:
        _check_bounds("Float", self.low, self.high)
        if self.log and self.logit:
            raise BoundsError("a Float has one scale, but got log=True and logit=True; choose one")
        if self.log and self.low <= 0:
            raise BoundsError(f"`low > 0` must hold with log=True, but got (low={self.low!r}, high={self.high!r})")
        if self.logit and not 0 < self.low <= self.high < 1:
            raise BoundsError(
                f"`0 < low` and `high < 1` must hold with logit=True, but got (low={self.low!r}, high={self.high!r})"
            )
        for name in ("log", "logit"):
            if not isinstance(getattr(self, name), bool):
                raise BoundsError(f"{name} must be True or False, but got {getattr(self, name)!r}")
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))

    @property
    def n_values(self) -> float:
        return 1 if self._scaled(self.low) == self._scaled(self.high) else math.inf

    def to_unit(self, value: Any) -> float:
        number = _number("Float", value)
        if not self.low <= number <= self.high:
            raise HparamsError(f"must lie in [{self.low!r}, {self.high!r}], but got {value!r}")
        low, high = self._scaled(self.low), self._scaled(self.high)
        if low == high:  # one value, or two so close that the scale cannot tell them apart
            return 0.0
        return min(1.0, max(0.0, (self._scaled(number) - low) / (high - low)))

    def from_unit(self, u: float) -> float:
        if u <= 0:
            return self.low
        if u >= 1:
            return self.high
        low, high = self._scaled(self.low), self._scaled(self.high)
        return min(self.high, max(self.low, self._unscaled(low * (1.0 - u) + high * u)))

    def snap(self, u: Floats) -> Floats:
        return np.clip(u, 0.0, 1.0)

    def sample(self, rng: np.random.Generator) -> float:
        return self.from_unit(rng.random())

    def _scaled(self, value: float) -> float:
        if self.log:
            return math.log10(value)
        if self.logit:
            return math.log(value) - math.log1p(-value)
        return value

    def _unscaled(self, value: float) -> float:
        if self.log:
            return float(10.0**value)
        if self.logit:
            return 1.0 / (1.0 + math.exp(-value))
        return value


@dataclass(frozen=True)
class Int:
    """A whole number between two bounds, both included.

    Args:
        low, high: the bounds, whole numbers.
        log: search on a logarithmic scale.

    Raises:
        BoundsError: unless low <= high, both whole; low > 0 with log.

    Examples:
        >>> Int(1, 5).from_unit(0.74)
        4
    """

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        _check_bounds("Int", self.low, self.high)
        if self.low != int(self.low) or self.high != int(self.high):
            raise BoundsError(f"Int bounds must be whole numbers, but got (low={self.low!r}, high={self.high!r})")
        if max(abs(self.low), abs(self.high)) > 2**53:
            raise BoundsError(
                f"Int bounds must lie within ±2**53, where every whole number is a float, "
                f"but got (low={self.low!r}, high={self.high!r})"
            )
        if self.log and self.low <= 0:
            raise BoundsError(f"`low > 0` must hold with log=True, but got (low={self.low!r}, high={self.high!r})")
        if not isinstance(self.log, bool):
            raise BoundsError(f"log must be True or False, but got {self.log!r}")
        object.__setattr__(self, "low", int(self.low))
        object.__setattr__(self, "high", int(self.high))

    @property
    def n_values(self) -> float:
        return self.high - self.low + 1

    def to_unit(self, value: Any) -> float:
        number = _number("Int", value)
        if number != math.floor(number):
            raise HparamsError(f"must be a whole number, but got {value!r}")
        if not self.low <= number <= self.high:
            raise HparamsError(f"must lie in [{self.low}, {self.high}], but got {value!r}")
        low, high = self._scaled(self.low), self._scaled(self.high)
        if low == high:  # one value, or two so close that the scale cannot tell them apart
            return 0.0
        return min(1.0, max(0.0, (self._scaled(number) - low) / (high - low)))

    def from_unit(self, u: float) -> int:
        if u <= 0:
            return self.low
        if u >= 1:
            return self.high
        low, high = self._scaled(self.low), self._scaled(self.high)
        at = low * (1.0 - u) + high * u
        return min(self.high, max(self.low, round(math.exp(at) if self.log else at)))

    def snap(self, u: Floats) -> Floats:
        low, high = self._scaled(self.low), self._scaled(self.high)
        at = low * (1.0 - u) + high * u
        whole = np.clip(np.rint(np.exp(at) if self.log else at), self.low, self.high)
        return np.clip(((np.log(whole) if self.log else whole) - low) / (high - low), 0.0, 1.0)

    def sample(self, rng: np.random.Generator) -> int:
        # On the linear scale from_unit would give both ends half a share.
        return self.from_unit(rng.random()) if self.log else int(rng.integers(self.low, self.high + 1))

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.log else float(value)


@dataclass(frozen=True, init=False)
class Choice:
    """One of several values, in no order: an optimiser, an activation, on or off.

    Raises:
        ChoiceError: without values, with the same value twice, or with a value that JSON cannot hold.

    Examples:
        >>> Choice("adam", "sgd").from_unit(1.0)
        'sgd'
    """

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        if not values:
            raise ChoiceError("a Choice needs at least one value, but got none")
        values = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
        seen: set[tuple[type, Any]] = set()
        for value in values:
            if value is not None and not isinstance(value, (str, int, float, bool)):
                raise ChoiceError(f"a Choice holds strings, numbers, booleans and None, but got {value!r}")
            if isinstance(value, float) and not math.isfinite(value):
                raise ChoiceError(f"a Choice holds finite numbers, but got {value!r}")
            if (type(value), value) in seen:  # 1, 1.0 and True are three values here, though Python calls them equal
                raise ChoiceError(f"the values of a Choice must differ, but got {value!r} twice in {values!r:.300}")
            seen.add((type(value), value))
        object.__setattr__(self, "values", values)

    @property
    def n_values(self) -> float:
        return len(self.values)

    def to_unit(self, value: Any) -> float:
        return self.index(value) / max(1, len(self.values) - 1)

    def from_unit(self, u: float) -> Any:
        # Equal shares of [0, 1]; the index i sits at i / (k - 1), which falls into its own share.
        k = len(self.values)
        return self.values[min(k - 1, max(0, math.floor(u * k)))]

    def snap(self, u: Floats) -> Floats:
        k = len(self.values)
        return np.clip(np.floor(u * k), 0, k - 1) / (k - 1)

    def sample(self, rng: np.random.Generator) -> Any:
        return self.values[int(rng.integers(len(self.values)))]

    def index(self, value: Any) -> int:
        """Return the position of a value."""
        for i, own in enumerate(self.values):
            if _same(own, value):
                return i
        known = ", ".join(map(repr, self.values[:_SHOWN])) + (", …" if len(self.values) > _SHOWN else "")
        raise HparamsError(f"must be one of {known:.1000}, but got {value!r:.300}")


def _same(a: Any, b: Any) -> bool:
    """1, 1.0 and True are three values here, though Python calls them equal."""
    return type(a) is type(b) and bool(a == b)


def _number(kind: str, value: Any) -> float:
    try:
        if isinstance(value, (bool, str)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise HparamsError(f"must be a number for {kind}, but got {value!r:.300}") from None
    if not math.isfinite(number):
        raise HparamsError(f"must be finite, but got {value!r}")
    return number


def _check_bounds(kind: str, low: Any, high: Any) -> None:
    try:
        if isinstance(low, (bool, str)) or isinstance(high, (bool, str)):
            raise TypeError
        finite = math.isfinite(low) and math.isfinite(high) and math.isfinite(high - low)
    except (TypeError, OverflowError):
        raise BoundsError(f"{kind} bounds must be numbers, but got (low={low!r}, high={high!r})") from None
    if not finite:
        raise BoundsError(f"{kind} bounds must be finite, but got (low={low!r}, high={high!r})")
    if low > high:
        raise BoundsError(f"`low <= high` must hold, but got (low={low!r}, high={high!r})")
