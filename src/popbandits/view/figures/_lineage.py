"""Lineage: who copied whom, intervals across, agents down; the way of the best in bold."""

from dataclasses import dataclass
from typing import Any

from popbandits.run import Run
from popbandits.view.figures._lines import best_rows, by_agent
from popbandits.view.figures._style import BEST, MANY, MUTED, colour, layout, line


@dataclass(frozen=True)
class Lineage:
    """Who trained on whose weights.

    Args:
        lives: for each agent the first and last interval it trained; the agents shown.
        copies: interval that began with a copy, agent, donor; of the agents shown.
        best: intervals and agents that the best weights went through.
        hidden: how many agents are not shown, since they neither gave nor took part in the best.
    """

    lives: dict[int, tuple[int, int]]
    copies: list[tuple[int, int, int]]
    best: tuple[list[int], list[int]]
    hidden: int


def lineage_data(run: Run) -> Lineage:
    """Return the lineage of a run; with many agents, of those that the best weights went through."""
    history = run.history
    path = best_rows(run)
    best = (history.interval[path].tolist(), history.agent[path].tolist())
    lives = {
        agent: (int(history.interval[rows[0]]), int(history.interval[rows[-1]]))
        for agent, rows in by_agent(history).items()
    }
    shown = set(lives)
    if len(lives) > MANY:
        wanted = list(dict.fromkeys([*best[1], *sorted(lives)]))
        shown = set(wanted[:MANY])
    copies = [
        (copy.interval, copy.agent, copy.donor) for copy in run.lineage if copy.agent in shown and copy.donor in shown
    ]
    return Lineage({a: life for a, life in lives.items() if a in shown}, copies, best, len(lives) - len(shown))


def draw_lineage(lineage: Lineage) -> dict[str, Any]:
    """Draw a track for each agent, a slanted line for each copy."""
    place = {agent: i for i, agent in enumerate(sorted(lineage.lives))}
    traces = [
        line(f"agent {agent}", [first - 1, last], [place[agent]] * 2, colour(agent), 2, showlegend=False)
        for agent, (first, last) in lineage.lives.items()
    ]
    x: list[Any] = []
    y: list[Any] = []
    for interval, agent, donor in lineage.copies:
        x += [interval - 1, interval - 0.6, None]
        y += [place[donor], place[agent], None]
    traces.append(line("copy", x, y, MUTED, 1.2))
    steps = list(zip(*lineage.best, strict=True))
    walk_x = [at for interval, _ in steps for at in (interval - 0.6, interval)]
    walk_y = [place[agent] for _, agent in steps if agent in place for _ in range(2)]
    if len(walk_x) == len(walk_y):
        traces.append(line("lineage of the best", walk_x, walk_y, BEST, 4, opacity=0.6))
    title = "Lineage" if not lineage.hidden else f"Lineage ({lineage.hidden} agents not shown)"
    made = layout(title, "interval", "agent", height=160 + 22 * max(6, len(place)))
    made["yaxis"] |= {
        "tickvals": list(place.values()),
        "ticktext": [str(agent) for agent in place],
        "autorange": "reversed",
        "zeroline": False,
    }
    return {"data": traces, "layout": made}
