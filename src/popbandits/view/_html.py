"""Text, values and tables as HTML. Whatever a run holds reaches a page as text, and never as markup."""

import html
from collections.abc import Sequence
from typing import Any

from popbandits.view._format import number, text


def escaped(value: str, *, lines: bool = False) -> str:
    """Return a text for a page, on one line unless its own lines are to stay.

    Examples:
        >>> escaped("<b>bold</b>")
        '&lt;b&gt;bold&lt;/b&gt;'
    """
    shown = "\n".join(text(part) for part in value.splitlines()) if lines else text(value)
    return html.escape(shown, quote=True)


def cell(value: Any) -> str:
    """Return a value short enough for a column."""
    return number(value) if isinstance(value, float) else str(value)


def table(heads: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table with one row of headings."""
    top = "".join(f"<th scope=col>{escaped(str(head))}</th>" for head in heads)
    body = "".join("<tr>" + "".join(f"<td>{escaped(str(part))}</td>" for part in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
