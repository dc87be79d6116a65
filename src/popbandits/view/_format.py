"""Numbers and hparams, short enough for a column. Text of users reaches the terminal without control characters."""

from collections.abc import Mapping
from typing import Any

_ROOM = 10  # characters of a number
_LONGEST = 4_000  # characters of a text


def number(value: float | None, digits: int = 4, sign: str = "") -> str:
    """Return a number in at most ten characters; a dash for none.

    Args:
        value: the number.
        digits: how many of it are shown, if they fit.
        sign: "+" to show that of a positive number, too.

    Examples:
        >>> number(0.000123456), number(-1.23456e-100), number(None)
        ('0.0001235', '-1.23e-100', '-')
    """
    if value is None:
        return "-"
    shown = (f"{value:{sign}.{n}g}" for n in range(digits, 0, -1))
    return next((text for text in shown if len(text) <= _ROOM), f"{value:{sign}.1g}")


def with_error(value: float | None, error: float | None) -> str:
    """Return a score with its standard error behind it, where there is one.

    Examples:
        >>> with_error(12.3456, 0.789), with_error(12.3456, None)
        ('12.35 ±0.79', '12.35')
    """
    return number(value) if error is None else f"{number(value)} ±{error:.2g}"


def text(value: Any) -> str:
    r"""Return any value as printable text on one line, cut where it is very long.

    Examples:
        >>> text("a\x1b[31mb")
        'a[31mb'
    """
    whole = str(value)
    line = "".join(character for character in whole[:_LONGEST].replace("\n", " ") if character.isprintable())
    return line if len(whole) <= _LONGEST else f"{line}…"


def pairs(hparams: Mapping[str, Any], *, short: bool = False) -> str:
    """Return hparams as `name value` pairs; short, with the last part of each name alone.

    Examples:
        >>> pairs({"lr": 0.001, "net": {"act": "relu"}})
        'lr 0.001  net.act relu'
    """
    named = [(name.rpartition(".")[2] if short else name, value) for name, value in _flat(hparams, "")]
    return "  ".join(f"{text(name)} {_value(value)}" for name, value in named)


def _flat(hparams: Mapping[str, Any], prefix: str) -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    for name, value in hparams.items():
        out += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(f"{prefix}{name}", value)]
    return out


def _value(value: Any) -> str:
    return number(value) if isinstance(value, float) else text(value)
