"""The timeline of agents: loading, training, saving, waiting."""

from dataclasses import dataclass
from typing import Any

from popbandits.run import Run
from popbandits.view.figures._style import MANY, MUTED, colour, layout

_PARTS = ("loading", "training", "saving")


@dataclass(frozen=True)
class Timeline:
    """When what was done, in seconds since the run began.

    Args:
        parts: for each of loading, training and saving: agents, starts and durations.
        busy: the share of the time, agent by agent, that was not spent waiting.
        hidden: how many agents are not shown.
    """

    parts: dict[str, tuple[list[int], list[float], list[float]]]
    busy: dict[int, float]
    hidden: int


def timeline_data(run: Run) -> Timeline:
    """Return the timeline of the first agents. A report's time is that of its entry in the log."""
    began = run.entries[0].time if run.entries else 0.0
    parts: dict[str, tuple[list[int], list[float], list[float]]] = {part: ([], [], []) for part in _PARTS}
    spent: dict[int, float] = {}
    end = began
    for entry in run.reports:
        agent, seconds = entry.agent, entry.seconds
        spent[agent] = spent.get(agent, 0.0) + sum(seconds)
        end = max(end, entry.time)
        if agent >= MANY:
            continue
        at = entry.time - began - sum(seconds)
        for part, took in zip(_PARTS, seconds, strict=True):
            agents, starts, durations = parts[part]
            agents.append(agent)
            starts.append(at)
            durations.append(took)
            at += took
    whole = max(end - began, 1e-9)
    busy = {agent: min(1.0, seconds / whole) for agent, seconds in sorted(spent.items())}
    return Timeline(parts, busy, max(0, len(spent) - MANY))


def draw_timeline(timeline: Timeline) -> dict[str, Any]:
    """Draw bars, an agent a row; what is not covered was waiting."""
    shades = {"loading": colour(1), "training": colour(0), "saving": colour(2)}
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": part,
            "y": agents,
            "base": starts,
            "x": durations,
            "marker": {"color": shades.get(part, MUTED)},
            "hovertemplate": part + " %{x:.3g} s<extra>agent %{y}</extra>",
        }
        for part, (agents, starts, durations) in timeline.parts.items()
    ]
    shown = len(timeline.busy) - timeline.hidden
    title = "Timeline" if not timeline.hidden else f"Timeline ({timeline.hidden} agents not shown)"
    made = layout(title, "seconds", "agent", height=160 + 22 * max(6, shown), barmode="overlay")
    made["yaxis"] |= {"autorange": "reversed", "dtick": 1}
    return {"data": traces, "layout": made}
