"""The README's figure: one real run, agent by agent. Who led, who copied whom, and with which hparams.

python -m benchmarks.figure_run RUN docs/run.svg [HPARAM]
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import popbandits as pb

mpl.rcParams["svg.hashsalt"] = "popbandits"  # the same file every time
_COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:purple", "tab:red", "tab:brown", "tab:pink", "tab:olive")


def main(folder: Path, path: Path, name: str) -> None:
    """Draw the scores of all agents with every copy, and below them one of their hparams."""
    run = pb.load(folder)
    history = run.history
    values = np.array([run.settings.space.flat(history.hparams(row))[name] for row in range(len(history))])
    figure = Figure(figsize=(9, 4.6), layout="tight")
    scores, hparams = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    for agent in range(run.settings.size):
        rows = np.flatnonzero(history.agent == agent)
        colour = _COLOURS[agent % len(_COLOURS)]
        for axis, column in ((scores, history.score), (hparams, values)):
            axis.plot(history.interval[rows], column[rows], color=colour, lw=1.4, marker=".", label=f"agent {agent}")
    for row in np.flatnonzero((history.donor >= 0) & (history.donor != history.agent)):
        own = np.flatnonzero((history.agent == history.agent[row]) & (history.interval == history.interval[row] - 1))
        when, donor = history.interval[own[0]], int(history.before[row])
        scores.annotate(
            "", (when, history.score[donor]), (when, history.score[own[0]]), arrowprops={"arrowstyle": "->", "lw": 0.8}
        )
    best = run.best
    scores.scatter([best.interval], [best.score], s=70, facecolors="none", edgecolors="black", zorder=3)
    named = run.settings.target.names[0]
    scores.set(title=f"{named}, best {best.score:.0f}; an arrow is a copy of the agent above", ylabel="score")
    scores.legend(loc="lower right", fontsize=8)
    hparams.set(xlabel="interval", ylabel=name, xticks=range(0, run.settings.intervals + 1, 5))
    if getattr(run.settings.space.params[name], "log", False):
        hparams.set_yscale("log")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    copies = len(run.lineage)
    print(f"{folder.name}: best {best.score:.1f} by agent {best.agent} in interval {best.interval}, {copies} copies")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:] or ["lr"])
