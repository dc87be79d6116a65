"""How long a decision takes, against Ray's PB2 on the same rows, and how it grows. One BLAS thread."""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import popbandits as pb
from benchmarks._made_up import DIM, population_with_past
from benchmarks._speed import keep
from popbandits.gp import Kernel, fit
from popbandits.gp._linalg import cholesky, inverse_lower
from popbandits.population import Population, View
from popbandits.strategies._levels import levels_of


def seconds(prepare: Callable[[], Any], act: Callable[[Any], Any], repeats: int) -> float:
    """Return the median time of `act` on what `prepare` returns anew each time."""
    taken = []
    for _ in range(repeats):
        ready = prepare()
        start = time.perf_counter()
        act(ready)
        taken.append(time.perf_counter() - start)
    return median(taken)


def view_of(population: Population) -> View:
    """Return what the strategy is shown."""
    return population.view()


def ours(rows: int, size: int = 8, repeats: int = 5) -> float:
    """Return the time of one whole decision: fit, block length and every agent of the batch."""
    return seconds(
        lambda: population_with_past(pb.PB2(), size=size, rows=rows, known=size), Population.overdue, repeats
    )


def rays(rows: int, repeats: int) -> float:
    """Return the time that Ray's PB2 takes to choose for one agent, given the same rows."""
    from ray.tune.schedulers.pb2 import _select_config

    view = view_of(population_with_past(pb.PB2(), size=8, rows=rows))
    history = view.history
    y = np.where(history.before < 0, 0.0, history.improvement)
    before = np.where(history.before < 0, 0.0, history.score[history.before])
    X = np.column_stack([history.interval, before, history.points])
    bounds = {f"x{j}": (0.0, 1.0) for j in range(DIM)}
    newpoint = np.array([history.interval[-1], before[-1]], dtype=float)
    current: Any = history.points[-6:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.random.seed(0)
        return seconds(lambda: None, lambda _: _select_config(X, y, current, newpoint, bounds, 2), repeats)


def against_ray(quick: bool) -> None:
    """Print the time for one agent chosen, ours and Ray's."""
    print(f"\none agent chosen, d = {DIM}, 8 agents of which 2 copy: whole decision / 2 against Ray's")
    print(f"{'rows':>6} {'popbandits':>12} {'Ray':>12} {'ratio':>8}")
    ours(80, repeats=2)
    for rows, repeats in ((80, 15), (304, 7), (1000, 5)):
        if quick and rows == 1000:
            print("  1000 left out with --quick")
            continue
        mine = ours(rows, repeats=repeats) / 2
        peer = rays(rows, 5 if rows == 80 else 1)
        print(f"{rows:>6} {1e3 * mine:>9.1f} ms {1e3 * peer:>9.1f} ms {peer / mine:>7.1f}x")
        what = f"choosing the hparams of one agent after {rows:,} reports, against Ray's PB2"
        keep(what, f"{1e3 * mine:.1f} ms", f"{1e3 * peer:,.0f} ms", f"{peer / mine:.0f}x")


def growth() -> None:
    """Print how a decision grows with the rows, and that it stops at the window."""
    print("\nwhole decision, 8 agents, window of 1,000 rows")
    taken = {rows: ours(rows, repeats=3) for rows in (248, 504, 1000, 100_000)}
    for rows, value in taken.items():
        print(f"{rows:>7} rows {1e3 * value:>8.1f} ms")
    exponent = np.log(taken[1000] / taken[504]) / np.log(1000 / 504)
    print(f"growth from 504 to 1,000 rows: n^{exponent:.2f}")
    print(f"100,000 rows against 1,000: {taken[100_000] / taken[1000]:.2f}x")


def fit_cost() -> None:
    """Print the fit at n = 1,000 in units of one Cholesky factorisation plus inverse."""
    view = view_of(population_with_past(pb.PB2(), size=8, rows=1000))
    evidence = levels_of(view, 1000, ending=False)
    kernel = Kernel((False,) * DIM, carried=True)
    theta = fit(kernel, evidence.rows, evidence.y)
    K = kernel.observed(theta, evidence.rows)

    def factor(matrix: Any) -> None:
        L = cholesky(matrix)
        assert L is not None
        inverse_lower(L)

    unit = seconds(K.copy, factor, 15)
    cold = seconds(lambda: None, lambda _: fit(kernel, evidence.rows, evidence.y), 5)
    warm = seconds(lambda: None, lambda _: fit(kernel, evidence.rows, evidence.y, start=theta), 5)
    print(f"\nfit at n = 1,000: one Cholesky plus inverse takes {1e3 * unit:.1f} ms")
    print(f"cold start {cold / unit:.1f}x of that, warm start {warm / unit:.1f}x")


def large_population() -> None:
    """Print a batch of 250 copies in a population of 1,000 against one of 2 in a population of 8."""
    small, large = ours(1000, 8, repeats=3), ours(1000, 1000, repeats=1)
    print(f"\n1,000 rows: 8 agents {small:.2f} s, 1,000 agents (250 choose) {large:.2f} s: {large / small:.1f}x")


def memory() -> None:
    """Print the memory of a history of 100,000 rows."""
    tracemalloc.start()
    population = population_with_past(pb.RandomSearch(), size=100, rows=100_000)
    here, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"\na population with {len(population.history):,} rows, d = {DIM}: {here / 1e6:.0f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out Ray at 1,000 rows, which takes minutes")
    arguments = parser.parse_args()
    fit_cost()
    growth()
    large_population()
    memory()
    against_ray(arguments.quick)
