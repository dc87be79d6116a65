"""The theory's figure: regret under the bound, sublinear for small omega, falling with the population."""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from popbandits._random import quasi_random
from popbandits.bandit.theory import largest_gains, regret_bounds
from popbandits.gp import Kernel, Theta
from popbandits.problems import theory_regret

mpl.rcParams["svg.hashsalt"] = "popbandits"  # the same file every time

INTERVALS, SEEDS = 60, 20


def main(path: Path) -> None:
    """Draw the figure and print the numbers in it."""
    figure = Figure(figsize=(9, 3.4), layout="tight")
    left, right = figure.subplots(1, 2)
    t = np.arange(1, INTERVALS + 1)
    for omega in (0.001, 0.01, 0.1, 0.9):
        curve = np.mean([theory_regret(4, INTERVALS, omega, seed) for seed in range(SEEDS)], axis=0)
        left.plot(t, curve / t, label=f"ω = {omega:g}")
        late = (curve[-1] - curve[INTERVALS // 2 - 1]) / curve[-1]
        print(f"4 agents, ω = {omega:g}: regret {curve[-1]:.2f}, share of its second half {late:.2f}")
    left.set(xlabel="interval t", ylabel="regret / t", yscale="log", title="mean regret, 4 agents")
    left.legend(fontsize=8)

    kernel, theta = Kernel((False,), omega=0.0), Theta(1.0, (0.3,), 0.0, 0.1)
    gains = largest_gains(kernel, theta, quasi_random(400, 1, np.random.default_rng(0)), INTERVALS * 16)
    sizes = [1, 2, 4, 8, 16]
    regrets = [np.mean([theory_regret(B, INTERVALS, 0.01, seed)[-1] for seed in range(SEEDS)]) for B in sizes]
    bounds = [regret_bounds(INTERVALS, B, omega=0.01, noise=0.1, gains=gains, dim=1).min() for B in sizes]
    right.plot(sizes, bounds, "o--", color="gray", label="bound of the theorem")
    right.plot(sizes, regrets, "o-", label="simulated")
    right.set(xlabel="agents B", xscale="log", yscale="log", title=f"regret after {INTERVALS} intervals, ω = 0.01")
    right.set_xticks(sizes, [str(B) for B in sizes])
    right.legend(fontsize=8)
    for B, regret, bound in zip(sizes, regrets, bounds, strict=True):
        print(f"ω = 0.01, {B} agents: regret {regret:.2f}, bound {bound:.0f}")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
