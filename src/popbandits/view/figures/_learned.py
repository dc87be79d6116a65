"""What the model learned and when: ω, lengthscales, signal and noise over time."""

from dataclasses import dataclass
from typing import Any

from popbandits.run import DecisionEntry, ReportEntry, Run
from popbandits.view.figures._style import MUTED, colour, layout, line


@dataclass(frozen=True)
class Learned:
    """The model after each decision.

    Args:
        interval: how many intervals had been trained when it was made.
        omega, signal, noise: as in `Beliefs`.
        lengthscales: for each hyperparameter that is a number.
    """

    interval: list[float]
    omega: list[float]
    signal: list[float]
    noise: list[float]
    lengthscales: dict[str, list[float]]


def learned_data(run: Run) -> Learned:
    """Return what was noted with each decision; nothing for a strategy without a model."""
    found = Learned([], [], [], [], {})
    reports = 0
    for entry in run.entries:
        reports += isinstance(entry, ReportEntry)
        if not isinstance(entry, DecisionEntry) or not reports:
            continue
        belief = run.believed(entry.decision.notes)
        if belief is None:
            continue
        found.interval.append(reports / run.settings.size)
        found.omega.append(belief.omega)
        found.signal.append(belief.signal)
        found.noise.append(belief.noise)
        for name, scale in belief.lengthscales.items():
            found.lengthscales.setdefault(name, []).append(scale)
    return found


def draw_learned(learned: Learned) -> dict[str, Any]:
    """Draw lengthscales above, ω in the middle, signal and noise below."""
    made = layout("What the model learned", "interval", "lengthscale", height=620)
    made["yaxis"] |= {"domain": [0.66, 1.0], "type": "log"}
    made["yaxis2"] = {"title": {"text": "ω: forgetting"}, "domain": [0.36, 0.6], "range": [0, 1]}
    made["yaxis3"] = {"title": {"text": "in scores"}, "domain": [0.0, 0.3], "type": "log"}
    made["xaxis"]["anchor"] = "y3"
    x = learned.interval
    traces = [line(name, x, scale, colour(j)) for j, (name, scale) in enumerate(learned.lengthscales.items())]
    traces.append(line("ω", x, learned.omega, MUTED, 2.5, yaxis="y2"))
    traces.append(line("what hparams change in an interval", x, learned.signal, colour(2), 2.5, yaxis="y3"))
    traces.append(line("error of a score", x, learned.noise, colour(5), 2.5, yaxis="y3"))
    return {"data": traces if x else [], "layout": made}
