"""Compare: the best score so far by interval, median and interquartile range over the runs of each strategy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from popbandits._errors import OptionError
from popbandits.run import Run, Settings
from popbandits.strategies import Elsewhere
from popbandits.view.figures._style import band, colour, layout, line

_SHARED: dict[str, Callable[[Settings], Any]] = {
    "metric": lambda settings: settings.metric,
    "mode": lambda settings: settings.mode,
    "trainable": lambda settings: "+".join(settings.target.names),  # wherever its file lies
    "space": lambda settings: settings.space,
    "population": lambda settings: settings.size,
}
"""What must be the same for a comparison to be one of strategies."""


@dataclass(frozen=True)
class Compared:
    """Runs of one kind, by strategy.

    Args:
        metric: the name of the score.
        groups: for each strategy the median, lower and upper quartile of the best so far after each interval.
        finals: for each strategy the best score of each run, in the order given.
        said: what may be concluded, in words.
    """

    metric: str
    groups: dict[str, tuple[list[float], list[float], list[float]]]
    finals: dict[str, list[float]]
    said: str


def compare_data(runs: Sequence[Run]) -> Compared:
    """Return a comparison of runs.

    Runs are compared after as many intervals as the shortest has: with equal budgets.

    Raises:
        OptionError: for no runs, or runs that differ in more than strategy, seed and length.
    """
    if not runs:
        raise OptionError("compare takes one run or more, but got none")
    for what, of in _SHARED.items():
        first = of(runs[0].settings)
        for run in runs[1:]:
            if of(run.settings) != first:
                raise OptionError(
                    f"runs to compare have one {what}, but {runs[0].directory} has {first} "
                    f"and {run.directory} has {of(run.settings)}"
                )
    curves: dict[str, list[list[float]]] = {}
    for run in runs:
        curves.setdefault(_label(run.settings.strategy), []).append(_best_so_far(run))
    groups, finals = {}, {}
    length = min(len(curve) for all_of in curves.values() for curve in all_of)  # as long as the shortest: equal budgets
    for name, all_of in curves.items():
        stacked = np.array([curve[:length] for curve in all_of]).reshape(len(all_of), length)
        low, median, high = np.quantile(stacked, (0.25, 0.5, 0.75), axis=0) if length else np.zeros((3, 0))
        groups[name] = (median.tolist(), low.tolist(), high.tolist())
        finals[name] = [curve[length - 1] if length else float("nan") for curve in all_of]
    said = _said(finals, runs[0].history.lower_is_better)
    lengths = {len(curve) for all_of in curves.values() for curve in all_of}
    if len(lengths) > 1:
        shortest = min(runs, key=lambda run: len(np.unique(run.history.interval)))
        said += f"; all compared after interval {length}: {shortest.directory} has no more"
    return Compared(runs[0].settings.metric, groups, finals, said)


def _label(strategy: Any) -> str:
    """Return a strategy's name with the options that are not as they are by default."""
    if isinstance(strategy, Elsewhere):
        return str(strategy)
    unlike = [
        f"{part.name}={getattr(strategy, part.name)!r}"
        for part in fields(strategy)
        if getattr(strategy, part.name) != part.default
    ]
    return type(strategy).__name__ + (f"({', '.join(unlike)})" if unlike else "")


def _best_so_far(run: Run) -> list[float]:
    history = run.history
    better = np.fmin if history.lower_is_better else np.fmax  # both leave out nan
    best, found = np.nan, []
    for interval in np.unique(history.interval):
        scores = history.score[history.interval == interval]
        best = float(better.reduce(scores[np.isfinite(scores)], initial=best))
        found.append(best)
    return found


def _said(finals: dict[str, list[float]], lower_is_better: bool) -> str:
    """Return whether the first two differ, by a rank test that asks nothing of how scores are distributed."""
    finals = {name: [score for score in scores if np.isfinite(score)] for name, scores in finals.items()}
    finals = {name: scores for name, scores in finals.items() if scores}
    ranked = sorted(finals, key=lambda name: float(np.median(finals[name])), reverse=not lower_is_better)
    if len(ranked) < 2:
        return "fewer than two strategies with a score: there is nothing to compare"
    first, second = ranked[:2]
    few = min(len(finals[first]), len(finals[second]))
    if few < 2:
        return f"{first} is ahead of {second}, with too few seeds to say more: give two runs or more of each"
    from scipy.stats import mannwhitneyu

    p = float(mannwhitneyu(finals[first], finals[second]).pvalue)
    verdict = "a difference that chance seldom makes" if p < 0.05 else "which may well be chance"
    return f"{first} is ahead of {second} (Mann-Whitney p = {p:.2g}, {few} seeds or more each): {verdict}"


def draw_compare(compared: Compared) -> dict[str, Any]:
    """Draw a line and a band for each strategy."""
    traces: list[dict[str, Any]] = []
    for j, (name, (median, low, high)) in enumerate(compared.groups.items()):
        x = list(range(1, len(median) + 1))
        traces.append(band(f"{name}, middle half", x, low, high, colour(j)))
        traces.append(line(f"{name} ({len(compared.finals[name])} runs)", x, median, colour(j), 2.5))
    return {"data": traces, "layout": layout("Best so far, median and middle half", "interval", compared.metric)}
