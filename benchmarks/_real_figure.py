"""The picture of the bench of real training: learning curves with bands, and the ranking with its intervals."""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._ceilings import has_ceiling
from benchmarks._real_cells import RealCell
from benchmarks._real_show import found_cells, normalised
from benchmarks._real_tasks import CEILINGS, STRATEGIES, TASKS, Task
from benchmarks._statistics import aggregate_estimate, interquartile_mean, mean_estimate
from popbandits._errors import OptionError

COLOURS = {method: f"C{i}" for i, method in enumerate(STRATEGIES)}


def draw(file: Path) -> None:
    """Draw what there is.

    Raises:
        OptionError: when there is no result.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    mpl.rcParams.update({"svg.hashsalt": "popbandits", "axes.spines.top": False, "axes.spines.right": False})
    tasks = {name: cells for name in TASKS if (cells := found_cells(name))}
    if not tasks:
        raise OptionError("there is no result in results/real; make some with: real run")
    columns = 3
    rows = -(-(len(tasks) + 1) // columns)
    figure = Figure(figsize=(4 * columns, 2.9 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for place, (name, cells) in zip(axes, tasks.items(), strict=False):
        _curves(place, TASKS[name], cells)
    _ranking(axes[len(tasks)], tasks)
    for place in axes[len(tasks) + 1 :]:
        place.set_axis_off()
    axes[0].legend(fontsize=7, frameon=False)
    figure.savefig(file, metadata={"Date": None})


def _curves(axes: Any, task: Task, cells: dict[str, RealCell]) -> None:
    """Draw the interquartile mean of the best score of an interval, with its interval, and the ceilings as lines."""
    for method in STRATEGIES:
        if method in cells:
            curve = np.array([row[: task.intervals] for row in cells[method].curve])
            estimates = [mean_estimate(curve[:, t]) for t in range(curve.shape[1])]
            x = np.arange(1, curve.shape[1] + 1)
            axes.plot(x, [e.value for e in estimates], color=COLOURS[method], label=method, linewidth=1.3)
            low, high = [e.low for e in estimates], [e.high for e in estimates]
            axes.fill_between(x, low, high, color=COLOURS[method], alpha=0.12, linewidth=0)
    for method, style in zip(CEILINGS, ("--", ":"), strict=True):
        if method in cells:
            last = np.array([row[-1] for row in cells[method].curve])
            axes.axhline(float(interquartile_mean(last)), color="0.4", linestyle=style, linewidth=1)
    axes.set_title(task.title, fontsize=8)
    axes.set_xlabel("interval", fontsize=8)
    axes.tick_params(labelsize=7)


def _ranking(axes: Any, tasks: dict[str, dict[str, RealCell]]) -> None:
    """Draw what each method is worth over all tasks whose ceilings are known."""
    known = {name: cells for name, cells in tasks.items() if has_ceiling(name)}
    ranked = []
    for method in STRATEGIES:
        worth = {name: normalised(TASKS[name], cells[method]) for name, cells in known.items() if method in cells}
        if worth:
            ranked.append((aggregate_estimate(worth), method))
    ranked.sort(key=lambda row: row[0].value)
    for y, (found, method) in enumerate(ranked):
        axes.plot([found.low, found.high], [y, y], color=COLOURS[method], linewidth=5, alpha=0.3)
        axes.plot(found.value, y, "o", color=COLOURS[method])
    axes.set_yticks(range(len(ranked)), [method for _, method in ranked], fontsize=8)
    axes.set_title("normalised worth, all tasks: 1 is the best that a search found", fontsize=8)
    axes.tick_params(labelsize=7)
