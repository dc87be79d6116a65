"""Learning curves of the experiments, as in the paper: the best score so far, median and quartiles over seeds."""

from pathlib import Path
from typing import Any

import numpy as np

from popbandits._errors import OptionError
from popbandits.paper._experiments import EXPERIMENTS, METHODS
from popbandits.paper._results import Result, of_today, read_results


def draw(results: Path, folder: Path) -> list[Path]:
    """Draw a figure for each task and population size that has results; return the files.

    Raises:
        OptionError: when matplotlib is missing, there is no result, or the folder cannot be one.
    """
    found = read_results(results)
    if not found:
        raise OptionError(f"there is no result in {results}; make some with: popbandits paper run")
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise OptionError("figures need matplotlib; install it with: pip install matplotlib") from None
    mpl.rcParams.update({"svg.hashsalt": "popbandits", "axes.spines.top": False, "axes.spines.right": False})
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"no figure can be written to {folder} ({error.strerror}); name another folder") from None
    files = []
    for key in sorted({_place(result) for result in found}):
        figure = Figure(figsize=(5, 3.2), layout="constrained")
        _curves(figure.add_subplot(), [result for result in found if _place(result) == key])
        experiment, task, population, scale = key
        files.append(folder / f"{experiment}-{task}-B{population}{'' if scale == 1 else f'-scale{scale:g}'}.svg")
        figure.savefig(files[-1], metadata={"Date": None})
    return files


def curves(found: list[Result]) -> dict[str, tuple[Any, int]]:
    """Return, for each method, the quartiles of the best score so far (3 x intervals) and the number of seeds."""
    out = {}
    for method in METHODS:
        own = [result.curve for result in of_today([r for r in found if r.cell.method == method])]
        if own:
            shortest = min(map(len, own))
            out[method] = (np.percentile([curve[:shortest] for curve in own], [25, 50, 75], axis=0), len(own))
    return out


def _place(result: Result) -> tuple[str, str, int, float]:
    cell = result.cell
    return cell.experiment, cell.task, cell.population, cell.scale


def _curves(axes: Any, found: list[Result]) -> None:
    experiment, task, population, scale = _place(found[0])
    each = found[0].cell.interval
    for method, ((low, middle, high), seeds) in curves(found).items():
        trained = each * np.arange(1, len(middle) + 1)
        colour = f"C{METHODS.index(method)}"  # the same in every figure
        axes.plot(trained, middle, label=f"{method} (n={seeds})", color=colour)
        axes.fill_between(trained, low, high, color=colour, alpha=0.15, linewidth=0)
    shrunk = "" if scale == 1 else f", {scale:.2g} of the paper's budget"
    axes.set_title(f"{task}, {population} agents{shrunk}", fontsize=10)
    axes.set_xlabel(f"{EXPERIMENTS[experiment].unit} of each agent")
    axes.set_ylabel("best score so far")
    axes.legend(fontsize=8, frameon=False)
