"""The study behind PB2's defaults: each ingredient alone and together, on problems with a known optimum.

    python -m benchmarks.study run [TABLE …] [--seeds N] [--workers N]     resumable; skips what has its seeds
    python -m benchmarks.study show                                        the tables of docs/study.md

A cell is one strategy on one problem with one population size; what is kept of it is the list of regrets, one a seed,
under results/study/. Every strategy sees the same problems and the same noise: cells can be compared seed by seed.
"""

import argparse
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import popbandits as pb
from benchmarks._digits import OPTIMISERS, Digits
from popbandits.population import Strategy
from popbandits.problems import FAMILIES, Cell, GPDraw, Mixed, MovingPeak, Problem, simulate

RESULTS = Path("results/study")
INTERVALS = 20
CHUNK = 20  # seeds between two savings


def _ray() -> Strategy:
    from benchmarks._ray_pb2 import RayPB2

    return RayPB2()


def _dice() -> Strategy:
    from benchmarks._dice import DicePB2

    return DicePB2()


def _calm() -> Strategy:
    from benchmarks._calm import CalmPB2

    return CalmPB2()


def _exp3() -> Strategy:
    from benchmarks._exp3 import MixPB2

    return MixPB2()


def _digits(optimiser: str, seed: int) -> Problem:
    return Digits((optimiser,), seed)


STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "random": pb.RandomSearch,
    "pbt": pb.PBT,
    "pbt-2017": lambda: pb.PBT(resample_probability=0.0),
    "uniform": lambda: pb.PBT(resample_probability=1.0),
    "dice": _dice,  # PB2's own copies, hparams drawn uniformly
    "paper": pb.PB2.paper,
    "pb2": pb.PB2,
    "paper + lineage noise": lambda: pb.PB2.paper(lineage_noise=True),
    "paper + region": lambda: pb.PB2.paper(trust_region=True),
    "paper + fading gains": lambda: pb.PB2.paper(fading_gains=True),
    "paper + middle": lambda: pb.PB2.paper(explore="middle"),
    "paper + beta 9": lambda: pb.PB2.paper(beta=9.0),
    "pb2 - lineage noise": lambda: pb.PB2(lineage_noise=False),
    "pb2 - region": lambda: pb.PB2(trust_region=False),
    "pb2 - fading gains": lambda: pb.PB2(fading_gains=False),
    "pb2 - surprise": _calm,
    "pb2 - middle": lambda: pb.PB2(explore="copied"),
    "pb2 - beta 9": lambda: pb.PB2(beta="paper"),
    "pb2 + common effect": lambda: pb.PB2(common_effect=True),
    "pb2, all explore": lambda: pb.PB2(explore="all"),
    "pb2, omega 0": lambda: pb.PB2(omega=0.0),
    "pb2, TV.EXP3.M": _exp3,
    "ray": _ray,
}

PROBLEMS: dict[str, tuple[Callable[[int], Problem], float]] = {
    **FAMILIES,
    "peak-1d": (lambda seed: MovingPeak(1, 0.03, seed=seed), 0.5),
    "peak-2d": (lambda seed: MovingPeak(2, 0.03, seed=seed), 0.5),
    "peak-10d": (lambda seed: MovingPeak(10, 0.03, seed=seed), 0.5),
    "peak-fast": (lambda seed: MovingPeak(3, 0.1, seed=seed), 0.5),
    "peak-no-noise": (lambda seed: MovingPeak(3, 0.03, seed=seed), 0.0),
    # Trained for real; 1 is the loss of fresh weights, 0 no loss.
    "digits": (lambda seed: Digits(seed=seed), 0.0),
    **{f"digits-{name}": (partial(_digits, name), 0.0) for name in OPTIMISERS},
    # Held out: no choice was made on these. Each differs from those above in its seeds and noise, most in dimension,
    # drift, lengthscale or jumps; the mixed one only in seeds and noise.
    "held-out-4d": (lambda seed: MovingPeak(4, 0.05, seed=seed + 1000), 0.7),
    "held-out-5d-static": (lambda seed: MovingPeak(5, 0.0, seed=seed + 1000), 0.25),
    "held-out-jumps": (lambda seed: MovingPeak(3, 0.01, 6, seed=seed + 1000), 0.3),
    "held-out-gp": (lambda seed: GPDraw(3, 0.15, 0.4, seed=seed + 1000), 0.4),
    "held-out-mixed": (lambda seed: Mixed(seed=seed + 1000), 1.0),
}

_BASELINES = ["random", "pbt", "pbt-2017", "uniform", "dice"]
_ABLATED = ["peak-3d", "peak-jumps", "noisy-sgd", "gp-unlearnable", "peak-6d"]
_SIZED = ["peak-3d", "peak-jumps", "noisy-sgd"]
_VARIANTS = [name for name in STRATEGIES if name.startswith(("paper", "pb2")) and "EXP3" not in name]


@dataclass(frozen=True)
class Table:
    """Strategies on problems, at one size of the population."""

    title: str
    strategies: list[str]
    problems: list[str]
    size: int
    seeds: int = 100
    paired: bool = False
    """Whether cells show their difference to pb2, seed by seed, instead of their own interval."""


TABLES: dict[str, Table] = {
    "four": Table("4 agents", [*_BASELINES, "paper", "pb2"], list(FAMILIES), 4),
    "held-out": Table(
        "Held out, 6 agents",
        [*_BASELINES, "paper", "pb2"],
        [name for name in PROBLEMS if name.startswith("held-out")],
        6,
    ),
    "eight": Table("8 agents", [*_BASELINES, "paper", "pb2"], list(FAMILIES), 8),
    "ablation": Table(
        "Each ingredient alone and left out, 4 agents", ["uniform", *_VARIANTS], _ABLATED, 4, paired=True
    ),
    "parameters": Table(
        "Dimensions, drift and noise, 4 agents",
        ["pbt", "uniform", "paper", "pb2"],
        ["peak-1d", "peak-2d", "peak-10d", "peak-fast", "peak-no-noise"],
        4,
    ),
    "categories": Table(
        "A bandit of its own for categories, 4 agents", ["uniform", "pb2", "pb2, TV.EXP3.M"], ["mixed"], 4
    ),
    "optimiser": Table(
        "The optimiser as a Choice, or one alone, 4 agents",
        ["pbt", "uniform", "pb2"],
        ["digits", *(f"digits-{name}" for name in OPTIMISERS)],
        4,
    ),
    "two": Table("2 agents", ["pbt", "uniform", "paper", "pb2"], _SIZED, 2),
    "three": Table("3 agents", ["pbt", "uniform", "paper", "pb2"], _SIZED, 3),
    "sixteen": Table("16 agents", ["pbt", "uniform", "paper", "pb2"], _SIZED, 16),
    "sixty-four": Table("64 agents", ["pbt", "uniform", "paper", "pb2"], ["peak-3d"], 64, 20),
    "ray": Table(
        "Ray's own functions, 4 agents",
        ["uniform", "ray", "pb2"],
        [name for name in FAMILIES if name != "mixed"],  # it knows no Choice
        4,
    ),
}


def _path(size: int, problem: str, strategy: str) -> Path:
    return RESULTS / f"B{size}-{problem}-{strategy.replace(' ', '_')}.json"


def _regrets(size: int, problem: str, strategy: str) -> list[float]:
    path = _path(size, problem, strategy)
    return list(json.loads(path.read_text())["regrets"]) if path.exists() else []


def _one(size: int, problem: str, strategy: str, seed: int) -> float:
    make, noise = PROBLEMS[problem]
    made = STRATEGIES[strategy]()
    return simulate(make(seed), made, size=size, intervals=INTERVALS, seed=seed, noise=noise).regret


def run(names: list[str], seeds: int | None, workers: int) -> None:
    """Run the cells of some tables that lack seeds, and save each as it grows."""
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    RESULTS.mkdir(parents=True, exist_ok=True)
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for name in names:
            table = TABLES[name]
            for problem in table.problems:
                for strategy in table.strategies:
                    cell = partial(_one, table.size, problem, strategy)
                    have, wanted = _regrets(table.size, problem, strategy), seeds or table.seeds
                    if have and round(cell(0), 5) != have[0]:
                        file = _path(table.size, problem, strategy)
                        raise SystemExit(f"seed 0 of {file} comes out differently now; remove it to make it anew")
                    while len(have) < wanted:
                        have += pool.map(cell, range(len(have), min(wanted, len(have) + CHUNK)), chunksize=2)
                        body = {
                            "version": pb.__version__,
                            "intervals": INTERVALS,
                            "regrets": [round(r, 5) for r in have],
                        }
                        _path(table.size, problem, strategy).write_text(json.dumps(body) + "\n")
                    shown = Cell(strategy, problem, tuple(have))
                    print(f"B={table.size} {problem} {strategy}: {shown.mean:.3f} ± {shown.half_width:.3f}", flush=True)


def show() -> Iterator[str]:
    """Yield the tables as Markdown: mean regret and its 95 % interval over common seeds, the best in bold."""
    for table in TABLES.values():
        asked = [(problem, strategy) for problem in table.problems for strategy in table.strategies]
        found = {(p, s): _regrets(table.size, p, s) for p, s in asked}
        there = [s for s in table.strategies if any(found[p, s] for p in table.problems)]
        if not there:
            continue
        yield f"### {table.title}\n"
        peers = [peer for peer in ("uniform", "dice") if peer in there]
        yield "| problem | seeds | " + " | ".join([*there, *(f"pb2 / {peer}" for peer in peers)]) + " |"
        yield "|---" * (len(there) + len(peers) + 2) + "|"
        for problem in table.problems:
            regrets = {s: found[problem, s] for s in there if found[problem, s]}
            if not regrets:
                continue
            n = min(len(one) for one in regrets.values())  # the same seeds for all: problems differ in difficulty
            row = {s: Cell(s, problem, tuple(one[:n])) for s, one in regrets.items()}
            best = min(row, key=lambda s: row[s].mean)
            texts = [_text(row.get(s), s == best, row.get("pb2") if table.paired else None) for s in there]
            ratios = [f"{row['pb2'].mean / row[p].mean:.2f}" if {"pb2", p} <= set(row) else "" for p in peers]
            yield f"| {problem} | {n} | " + " | ".join([*texts, *ratios]) + " |"
        yield ""


def _text(cell: Cell | None, best: bool, peer: Cell | None) -> str:
    """Return a mean with its interval, or with the interval of its difference to a peer on the same seeds."""
    if cell is None:
        return ""
    text = f"{cell.mean:.3f} ± {cell.half_width:.3f}"
    if peer not in (None, cell):
        apart = [a - b for a, b in zip(cell.regrets, peer.regrets, strict=True)]
        off = Cell(cell.strategy, cell.problem, tuple(apart))
        text = f"{cell.mean:.3f} ({off.mean:+.3f} ± {off.half_width:.3f})"
    return f"**{text}**" if best else text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "show"])
    parser.add_argument("tables", nargs="*", help=f"of {', '.join(TABLES)}; all by default")
    parser.add_argument("--seeds", type=int, help="a cell, instead of the table's own")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    unknown = [name for name in given.tables if name not in TABLES]
    if unknown:
        parser.error(f"a table is one of {', '.join(TABLES)}, but got {unknown[0]}")
    if given.command == "run":
        run(given.tables or list(TABLES), given.seeds, given.workers)
    else:
        print("\n".join(show()))
