"""The study behind PB2's defaults: strategies and their options on problems with a known optimum.

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
from typing import Any, Literal

import popbandits as pb
from benchmarks._digits import OPTIMISERS, Digits
from benchmarks._files import write_whole
from popbandits.paper import REVISIONS
from popbandits.population import Strategy
from popbandits.problems import (
    BITING,
    FAMILIES,
    REFERENCES,
    Family,
    GPDraw,
    IllConditioned,
    Mixed,
    MovingPeak,
    Problem,
    Referenced,
    Regrets,
    run_family,
)

RESULTS = Path("results/study")
INTERVALS = 20
CHUNK = 20  # seeds between two savings


def _ray() -> Strategy:
    from benchmarks._ray_pb2 import RayPB2

    return RayPB2()


def _digits(optimiser: str, seed: int) -> Problem:
    return Digits((optimiser,), seed)


STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "random": pb.RandomSearch,
    "asha": pb.ASHA,
    "pbt": pb.PBT,
    "pbt-2017": lambda: pb.PBT(resample_probability=0.0),
    "uniform": lambda: pb.PBT(resample_probability=1.0),
    "dice": lambda: pb.PB2(window=0),  # PB2's own copies, neighbours drawn at random
    "paper": pb.PB2.paper,
    "pb2": pb.PB2,
    "pb2, patience 1": lambda: pb.PB2(patience=1),
    "pb2, patience 4": lambda: pb.PB2(patience=4),
    "pb2, spread 0.3": lambda: pb.PB2(spread=0.3),
    "paper, all explore": lambda: pb.PB2.paper(explore="all"),
    "paper, beta 9": lambda: pb.PB2.paper(beta=9.0),
    "paper, omega 0": lambda: pb.PB2.paper(omega=0.0),
    "ray": _ray,
}

PROBLEMS: dict[str, Family] = {
    **FAMILIES,
    **BITING,
    "peak-1d": Family(lambda seed: MovingPeak(1, 0.03, seed=seed), 0.5),
    "peak-2d": Family(lambda seed: MovingPeak(2, 0.03, seed=seed), 0.5),
    "peak-10d": Family(lambda seed: MovingPeak(10, 0.03, seed=seed), 0.5),
    "peak-fast": Family(lambda seed: MovingPeak(3, 0.1, seed=seed), 0.5),
    "peak-no-noise": Family(lambda seed: MovingPeak(3, 0.03, seed=seed)),
    # Trained for real; 1 is the loss of fresh weights, 0 no loss.
    "digits": Family(lambda seed: Digits(seed=seed)),
    **{f"digits-{name}": Family(partial(_digits, name)) for name in OPTIMISERS},
    # Held out: no choice was made on these. Each differs from those above in its seeds and noise, most in dimension,
    # drift, lengthscale or jumps; the mixed one only in seeds and noise.
    "held-out-4d": Family(lambda seed: MovingPeak(4, 0.05, seed=seed + 1000), 0.7),
    "held-out-5d-static": Family(lambda seed: MovingPeak(5, 0.0, seed=seed + 1000), 0.25),
    "held-out-jumps": Family(lambda seed: MovingPeak(3, 0.01, 6, seed=seed + 1000), 0.3),
    "held-out-gp": Family(lambda seed: GPDraw(3, 0.15, 0.4, seed=seed + 1000), 0.4),
    "held-out-mixed": Family(lambda seed: Mixed(seed=seed + 1000), 1.0),
    "held-out-flatter": Family(lambda _: IllConditioned(48, 1e-4), score_error=0.05),
    "held-out-noisier": Family(lambda _: IllConditioned(96, 3e-3, 4.0), score_error=0.1),
}

_RIVALS = ["random", "asha", "pbt", "uniform", "dice", "paper", "pb2"]
_SGD = ["ill-conditioned", "held-out-flatter", "held-out-noisier"]
_BASELINES = ["random", "pbt", "pbt-2017", "uniform", "dice"]
_ABLATED = ["peak-3d", "peak-jumps", "noisy-sgd", "gp-unlearnable", "peak-6d"]
_SIZED = ["peak-3d", "peak-jumps", "noisy-sgd"]
_VARIANTS = [name for name in STRATEGIES if name.startswith(("paper", "pb2"))]


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
    shown: Literal["regrets", "scores"] = "regrets"
    """Where no optimum is known, the final score itself says more than its distance from a reference."""


TABLES: dict[str, Table] = {
    "bite": Table("Problems that bite, 4 agents", [*_RIVALS, *REFERENCES], list(BITING), 4),
    "bite-eight": Table("Problems that bite, 8 agents", [*_RIVALS, *REFERENCES], list(BITING), 8),
    "quadratics": Table(
        "−log₁₀ of the final loss of ill-conditioned quadratics, 4 agents",
        [*_RIVALS, *REFERENCES],
        _SGD,
        4,
        shown="scores",
    ),
    "quadratics-eight": Table("The same, 8 agents", [*_RIVALS, *REFERENCES], _SGD, 8, shown="scores"),
    "four": Table("4 agents", [*_BASELINES, "paper", "pb2"], list(FAMILIES), 4),
    "held-out": Table(
        "Held out, 6 agents",
        [*_BASELINES, "paper", "pb2"],
        ["held-out-4d", "held-out-5d-static", "held-out-jumps", "held-out-gp", "held-out-mixed"],
        6,
    ),
    "eight": Table("8 agents", [*_BASELINES, "paper", "pb2"], list(FAMILIES), 8),
    "options": Table("Options, 4 agents", ["uniform", *_VARIANTS], _ABLATED, 4, paired=True),
    "parameters": Table(
        "Dimensions, drift and noise, 4 agents",
        ["pbt", "uniform", "paper", "pb2"],
        ["peak-1d", "peak-2d", "peak-10d", "peak-fast", "peak-no-noise"],
        4,
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


def path_of(size: int, problem: str, strategy: str) -> Path:
    """Return where a cell is kept; tables may share it."""
    return RESULTS / f"B{size}-{problem}-{strategy.replace(' ', '_')}.json"


def _kept(size: int, problem: str, strategy: str, what: str = "regrets") -> list[float]:
    """Return what is kept of a cell: nothing of a cell that an earlier revision of its strategy made."""
    path = path_of(size, problem, strategy)
    body = json.loads(path.read_text()) if path.exists() else {}
    return list(body.get(what, ())) if body.get("revision") == revision_of(strategy) else []


def revision_of(strategy: str) -> int:
    """Return the revision of what a strategy is made of: PB2's for its options and its dice, else the first."""
    return REVISIONS["pb2"] if strategy == "dice" or strategy.startswith("pb2") else 1


def _one(size: int, problem: str, strategy: str, seed: int) -> tuple[float, float]:
    """Return the regret and the final score of one run."""
    made = strategy if strategy in REFERENCES else STRATEGIES[strategy]()
    found = run_family(PROBLEMS[problem], made, size=size, intervals=INTERVALS, seed=seed)
    assert found is not None
    return found.regret, found.score


def has(problem: str, strategy: str) -> bool:
    """Return whether a strategy can be run on a problem: only some have a reference of that name."""
    if strategy not in REFERENCES:
        return True
    made = PROBLEMS[problem].make(0)
    return isinstance(made, Referenced) and strategy in made.references(INTERVALS)


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
                    if has(problem, strategy):
                        run_cell(partial(pool.map, chunksize=2), table, problem, strategy, seeds or table.seeds)


def is_done(table: Table, problem: str, strategy: str) -> bool:
    """Return whether a cell has the seeds of its table."""
    return len(_kept(table.size, problem, strategy)) >= table.seeds


def run_cell(spread: Callable[..., Any], table: Table, problem: str, strategy: str, wanted: int) -> None:
    """Run the seeds that a cell lacks, and save it as it grows; `spread` maps over seeds, such as a pool's map."""
    cell = partial(_one, table.size, problem, strategy)
    file = path_of(table.size, problem, strategy)
    have, scores = (_kept(table.size, problem, strategy, what) for what in ("regrets", "scores"))
    if have and round(cell(0)[0], 5) != have[0]:
        raise SystemExit(f"seed 0 of {file} comes out differently now; remove it to make it anew")
    while len(have) < wanted:
        found = list(spread(cell, range(len(have), min(wanted, len(have) + CHUNK))))
        if len(scores) == len(have):  # cells that were begun before scores were kept have none
            scores += [round(score, 4) for _, score in found]
        have += [round(regret, 5) for regret, _ in found]
        body = {"revision": revision_of(strategy), "intervals": INTERVALS, "regrets": have, "scores": scores}
        write_whole(file, json.dumps(body))
    shown = Regrets(strategy, problem, tuple(have))
    print(f"B={table.size} {problem} {strategy}: {shown.mean:.3f} ± {shown.half_width:.3f}", flush=True)


def show() -> Iterator[str]:
    """Yield the tables as Markdown."""
    for found in TABLES.values():
        yield from show_table(found)


def show_table(table: Table) -> Iterator[str]:
    """Yield a table as Markdown: means and their 95 % intervals over common seeds, the best in bold."""
    asked = [(problem, strategy) for problem in table.problems for strategy in table.strategies]
    found = {(p, s): _kept(table.size, p, s, table.shown) for p, s in asked}
    there = [s for s in table.strategies if any(found[p, s] for p in table.problems)]
    if not there:
        return
    yield f"### {table.title}\n"
    peers = [peer for peer in ("uniform", "dice") if {"pb2", peer} <= set(there) and table.shown == "regrets"]
    yield "| problem | seeds | " + " | ".join([*there, *(f"pb2 / {peer}" for peer in peers)]) + " |"
    yield "|---" * (len(there) + len(peers) + 2) + "|"
    for problem in table.problems:
        values = {s: found[problem, s] for s in there if found[problem, s]}
        if not values:
            continue
        n = min(len(one) for one in values.values())  # the same seeds for all: problems differ in difficulty
        row = {s: Regrets(s, problem, tuple(one[:n])) for s, one in values.items()}
        best = _best(row, table)
        texts = [_text(row.get(s), s == best, row.get("pb2") if table.paired else None) for s in there]
        ratios = [f"{row['pb2'].mean / row[p].mean:.2f}" if {"pb2", p} <= set(row) else "" for p in peers]
        yield f"| {problem} | {n} | " + " | ".join([*texts, *ratios]) + " |"
    yield ""


def _best(row: dict[str, Regrets], table: Table) -> str | None:
    """Return the best strategy of a row: of regrets the least, of scores the highest; references do not compete."""
    means = {name: cell.mean for name, cell in row.items() if name not in REFERENCES}
    choose = min if table.shown == "regrets" else max
    return choose(means, key=lambda name: means[name]) if means else None


def _text(cell: Regrets | None, best: bool, peer: Regrets | None) -> str:
    """Return a mean with its interval, or with the interval of its difference to a peer on the same seeds."""
    if cell is None:
        return ""
    text = f"{cell.mean:.3f} ± {cell.half_width:.3f}"
    if peer not in (None, cell):
        apart = [a - b for a, b in zip(cell.regrets, peer.regrets, strict=True)]
        off = Regrets(cell.strategy, cell.problem, tuple(apart))
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
