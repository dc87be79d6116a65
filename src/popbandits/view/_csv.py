"""CSV in which no text can be taken for a formula by the spreadsheet that opens it."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from popbandits._types import Hparams
from popbandits.space import Space

_FORMULA = ("=", "+", "-", "@", "\t", "\n")


def as_csv(columns: Mapping[str, Sequence[Any]]) -> str:
    r"""Return columns as CSV; a text that begins like a formula gets a quote in front.

    Examples:
        >>> as_csv({"name": ["=1+1", "b"], "n": [1, -2.5]})
        "name,n\n'=1+1,1\nb,-2.5\n"
    """
    out = io.StringIO()
    write_csv(out, columns, zip(*columns.values(), strict=True))
    return out.getvalue()


def write_csv(out: TextIO, names: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write rows as CSV, one after another, as `as_csv` does it with columns."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_cell(name) for name in names])
    for row in rows:
        writer.writerow([_cell(value) for value in row])


def schedule_as_csv(space: Space, schedule: Sequence[Hparams]) -> str:
    """Return a schedule as CSV: a row for each interval, a column for each name of the space."""
    rows = [space.flat(hparams) for hparams in schedule]
    names = list(rows[0]) if rows else []
    return as_csv({"interval": range(1, len(rows) + 1)} | {name: [row[name] for row in rows] for name in names})


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.replace("\r\n", "\n").replace("\r", "\n")  # a lone return is not quoted, and some begin a row at it
    return f"'{text}" if text.startswith(_FORMULA) else text
