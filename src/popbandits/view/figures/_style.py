"""What all drawings share: colours that colour-blind people can tell apart, axes, and how many lines are too many."""

import html
import math
from typing import Any

MANY = 24
"""Agents beyond which lines are summed up as bands."""

_AGENTS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a6d00", "#7570b3")
BEST = "#111111"
MUTED = "#888888"


def colour(agent: int) -> str:
    """Return the colour of an agent."""
    return _AGENTS[agent % len(_AGENTS)]


def layout(title: str, x: str, y: str, **more: Any) -> dict[str, Any]:
    """Return a layout with titled axes; the page sets the colours of its background and text."""
    base: dict[str, Any] = {
        "title": {"text": title},
        "xaxis": {"title": {"text": x}},
        "yaxis": {"title": {"text": y}},
        "margin": {"l": 60, "r": 20, "t": 50, "b": 90},
        "hovermode": "closest",
        "legend": {"orientation": "h", "yref": "container", "y": 0.0, "yanchor": "bottom"},
        "height": 420,
    }
    return base | more


def line(name: str, x: list[Any], y: list[Any], shade: str, width: float = 1.5, **more: Any) -> dict[str, Any]:
    """Return a line through points; nan is a gap."""
    body = {"type": "scatter", "mode": "lines", "name": name, "x": x, "y": gaps(y)}
    return body | {"line": {"color": shade, "width": width}} | more


def band(name: str, x: list[Any], low: list[Any], high: list[Any], shade: str, opacity: float = 0.2) -> dict[str, Any]:
    """Return the area between two lines."""
    back = [*x, *reversed(x)]
    edge = [*gaps(high), *reversed(gaps(low))]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": back,
        "y": edge,
        "fill": "toself",
        "fillcolor": shade,
        "opacity": opacity,
        "line": {"width": 0},
        "hoverinfo": "skip",
    }


def summed_up(x: list[Any], levels: list[list[Any]]) -> list[dict[str, Any]]:
    """Return bands for many agents from their least, lower quartile, median, upper quartile and greatest."""
    least, lower, median, upper, greatest = levels
    return [
        band("all agents", x, least, greatest, MUTED, 0.15),
        band("middle half", x, lower, upper, colour(0), 0.3),
        line("median", x, median, colour(0)),
    ]


def finished(drawing: Any) -> Any:
    """Return a drawing whose texts are shown as they are, and whose numbers have the digits that can be seen.

    Plotly takes some tags in texts for markup. Six digits make the JSON of a drawing a third as long.
    """
    if isinstance(drawing, float):
        return float(f"{drawing:.6g}") if math.isfinite(drawing) else None  # JSON has no nan and no infinity
    if isinstance(drawing, str):
        return html.escape(drawing, quote=False)
    if isinstance(drawing, dict):
        # The template of a hover text is ours, and has a tag.
        return {name: value if name == "hovertemplate" else finished(value) for name, value in drawing.items()}
    return [finished(value) for value in drawing] if isinstance(drawing, list) else drawing


def gaps(values: list[Any]) -> list[Any]:
    """Return values with None for what is not finite: JSON has no nan."""
    return [value if not isinstance(value, float) or abs(value) < float("inf") else None for value in values]
