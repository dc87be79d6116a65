"""What the GP believes: mean and band along each hyperparameter, for decisions through time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from popbandits.run import DecisionEntry, ReportEntry, Run
from popbandits.space import Choice
from popbandits.view.figures._lines import best_rows
from popbandits.view.figures._style import band, colour, gaps, layout, line

_GRID = 41
_FRAMES = 12


@dataclass(frozen=True)
class Belief:
    """The model at one decision, along each hyperparameter, the others as those of the best.

    Args:
        interval: the interval to come, of the oldest weights.
        along: for each hyperparameter its values in the user's units, the mean and the deviation of the gain.
        logs: the hyperparameters whose scale is logarithmic.
        choices: those whose values are names, with nothing in between.
    """

    interval: int
    along: dict[str, tuple[list[Any], list[float], list[float]]]
    logs: frozenset[str]
    choices: frozenset[str]


def beliefs_data(run: Run) -> list[Belief]:
    """Return the belief at up to 12 decisions, evenly spread; none for a strategy without a model."""
    space = run.settings.space
    expected = getattr(run.settings.strategy, "expected", None)
    if expected is None or not space.names:
        return []
    decisions: list[tuple[int, Mapping[str, Any]]] = []
    reports = 0
    for entry in run.entries:
        reports += isinstance(entry, ReportEntry)
        goes_on = isinstance(entry, DecisionEntry) and entry.decision.trained
        notes = entry.decision.notes if isinstance(entry, DecisionEntry) and goes_on and reports else {}
        # Out of step, a decision that chose nothing hands on the notes of the one before.
        if run.believed(notes) is not None and (not decisions or decisions[-1][1] != notes):
            decisions.append((reports, notes))
    if not decisions:
        return []
    kept = np.unique(np.linspace(0, len(decisions) - 1, min(_FRAMES, len(decisions))).astype(int))
    path = best_rows(run)
    centre = run.history.points[path[-1]] if path else np.full(space.dim, 0.5)
    params = dict(zip(space.names, space.active, strict=True))
    logs = frozenset(name for name, param in params.items() if getattr(param, "log", False))
    choices = frozenset(name for name, param in params.items() if isinstance(param, Choice))
    core = run.history.upward()
    found = []
    for i in kept:
        rows, notes = decisions[int(i)]
        gain = expected(core.first(rows), notes, run.settings.size)
        if gain is None:
            continue
        interval = int(run.history.age[:rows].max()) + 1  # the model's time
        along = {}
        for j, (name, param) in enumerate(params.items()):
            steps = len(param.values) if isinstance(param, Choice) else _GRID
            units = np.unique(param.snap(np.linspace(0, 1, steps)))
            grid = np.tile(centre, (len(units), 1))
            grid[:, j] = units
            mean, deviation = gain(grid, float(interval))
            values = [param.from_unit(float(u)) for u in units]
            shown = [str(value) for value in values] if name in choices else values
            along[name] = (shown, mean.tolist(), deviation.tolist())
        found.append(Belief(interval, along, logs, choices))
    return found


def draw_beliefs(beliefs: list[Belief]) -> dict[str, Any]:
    """Draw a panel for each hyperparameter; a slider goes through time."""
    made = layout("What the model believes of the interval to come", "", "gain over the average", height=460)
    if not beliefs:
        return {"data": [], "layout": made}
    names = list(beliefs[0].along)
    side = 1.0 / len(names)
    for j, name in enumerate(names):
        key = "xaxis" if j == 0 else f"xaxis{j + 1}"
        end = (j + 1) * side - (0.03 if j + 1 < len(names) else 0.0)
        made[key] = {"title": {"text": name}, "domain": [j * side, end]}
        if name in beliefs[0].logs:
            made[key]["type"] = "log"
        elif name in beliefs[0].choices:
            made[key]["type"] = "category"  # names that look like numbers or dates are names still
    frames = [_frame(belief) for belief in beliefs]
    traces = [trace | {"visible": i == len(frames) - 1} for i, frame in enumerate(frames) for trace in frame]
    owner = [i for i, frame in enumerate(frames) for _ in frame]
    steps = [
        {"label": str(belief.interval), "method": "restyle", "args": ["visible", [i == k for k in owner]]}
        for i, belief in enumerate(beliefs)
    ]
    made["sliders"] = [{"active": len(beliefs) - 1, "currentvalue": {"prefix": "interval "}, "steps": steps, "y": -0.2}]
    return {"data": traces, "layout": made}


def _frame(belief: Belief) -> list[dict[str, Any]]:
    """Return the traces of one decision: a line and its band, or a point and its bar for each of a choice's values."""
    traces: list[dict[str, Any]] = []
    for j, (name, (x, mean, deviation)) in enumerate(belief.along.items()):
        axis = {"xaxis": "x" if j == 0 else f"x{j + 1}", "showlegend": False}
        if name in belief.choices:
            bars = {"type": "data", "array": gaps([2 * d for d in deviation])}
            traces.append(line(name, x, mean, colour(j)) | axis | {"mode": "markers", "error_y": bars})
            continue
        low = [m - 2 * d for m, d in zip(mean, deviation, strict=True)]
        high = [m + 2 * d for m, d in zip(mean, deviation, strict=True)]
        traces.append(band(f"{name}, two deviations", x, low, high, colour(j)) | axis)
        traces.append(line(name, x, mean, colour(j), 2.5) | axis)
    return traces
