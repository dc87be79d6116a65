"""The README's figure: where four agents look while the best of two hyperparameters moves, under PB2 and PBT."""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import popbandits as pb
from popbandits.population import History, Strategy
from popbandits.problems import MovingPeak, simulate

mpl.rcParams["svg.hashsalt"] = "popbandits"  # the same file every time

INTERVALS, SIZE, NOISE, SEEDS = 50, 4, 0.3, 20


def main(path: Path) -> None:
    """Draw the figure and print the regret of both."""
    problems = [MovingPeak(2, 0.06, seed=seed) for seed in range(SEEDS)]
    figure = Figure(figsize=(9, 3.2), layout="tight")
    axes = figure.subplots(1, 2, sharey=True)
    strategies: dict[str, Strategy] = {"PB2": pb.PB2(), "PBT": pb.PBT()}
    for axis, (name, strategy) in zip(axes, strategies.items(), strict=True):
        outcomes = [
            simulate(problem, strategy, size=SIZE, intervals=INTERVALS, seed=problem.seed, noise=NOISE)
            for problem in problems
        ]
        regret = np.mean([outcome.regret for outcome in outcomes])
        history, centres = outcomes[0].history, problems[0].centres
        kept = np.array([_kept(history, row) for row in range(len(history))])
        axis.plot(np.arange(1, INTERVALS + 1), centres[:INTERVALS, 0], color="black", label="optimum")
        axis.scatter(history.interval[kept], history.points[kept, 0], s=14, color="tab:blue", label="kept")
        axis.scatter(history.interval[~kept], history.points[~kept, 0], s=22, color="tab:orange", label="chosen")
        axis.set(title=f"{name}: mean regret of {SEEDS} runs {regret:.2f}", xlabel="interval", ylim=(-0.03, 1.03))
        print(f"{name}: normalised regret {regret:.3f}, mean of {SEEDS} seeds; the first is drawn")
    axes[0].set_ylabel("first hyperparameter")
    axes[1].legend(loc="upper right", fontsize=8)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _kept(history: History, row: int) -> bool:
    """Return whether an agent went on with its hparams."""
    before = np.flatnonzero((history.agent == history.agent[row]) & (history.interval == history.interval[row] - 1))
    return len(before) > 0 and bool((history.points[before[0]] == history.points[row]).all())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
