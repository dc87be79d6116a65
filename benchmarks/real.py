"""The bench of real training: strategies judged by what they train, with many seeds in minutes.

    python -m benchmarks.real scan [TASK …]                  where good hparams are
    python -m benchmarks.real ceilings [TASK …]              what can be had: the best constant and the best line
    python -m benchmarks.real run [TASK …] [--methods a,b]   train what is missing; goes on where it stopped
    python -m benchmarks.real choose [TASK …]                PB2 with a part left out, on seeds of their own
    python -m benchmarks.real show                           the tables of docs/real.md
    python -m benchmarks.real figure docs/real.svg           curves and ranking

A cell is one method on one task with one population size. What is kept of it, under results/real/, is a number for each
seed: what the weights that reported the best score are worth on episodes or data that chose nothing. Every method
begins with the same weights and hparams for the same seed, so methods are compared seed by seed.
"""

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import argparse
import sys
import time
from pathlib import Path

from benchmarks._ceilings import LEARNERS, Ceiling, has_ceiling, scan, search, write_ceiling
from benchmarks._choosing import CHOSEN_ON, choose, show_choosing
from benchmarks._real_cells import RealCell, read_cell, write_cell
from benchmarks._real_figure import draw
from benchmarks._real_show import show
from benchmarks._real_tasks import CEILINGS, METHODS, TASKS, compiled, method_of
from popbandits._errors import PopbanditsError

CHUNK = 10  # seeds trained together and then written


def run_cell(task: str, method: str, size: int, seeds: int | None = None) -> RealCell:
    """Train the seeds that a cell lacks, and write it after each chunk."""
    found = TASKS[task]
    how = method_of(method, found)
    cell = read_cell(task, method, size)
    chunk = CHUNK if found.trainable is None else 1
    while len(cell.judged) < (seeds or found.seeds):
        began = time.perf_counter()
        first = len(cell.judged)
        wanted = range(first, min(first + chunk, seeds or found.seeds))
        outcomes = found.train(how.strategy, wanted, size, how.space)
        cell = cell.extended(outcomes, time.perf_counter() - began)
        write_cell(cell)
    return cell


def find_ceilings(task: str) -> None:
    """Search for the ceilings of a task, unless they are known."""
    if has_ceiling(task) or TASKS[task].trainable is not None:
        return
    for found in search(compiled(task), TASKS[task].intervals, LEARNERS[task]):
        if isinstance(found, Ceiling):
            write_ceiling(task, found)
            print(f"{task}: constant {found.constant_score:.4g}, line {found.line_score:.4g}", flush=True)
        else:
            print(f"{task}: {found}", flush=True)


def methods_of(task: str) -> list[str]:
    """Return the methods that a task is compared with; what is not mapped has no ceilings."""
    return [name for name in METHODS if TASKS[task].trainable is None or name not in CEILINGS]


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["scan", "ceilings", "run", "choose", "show", "figure"])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(TASKS)}, all by default; or the figure's file")
    parser.add_argument("--methods", help=f"of {', '.join(METHODS)}, or module:Class of a strategy; all by default")
    parser.add_argument("--seeds", type=int, help="of a cell, instead of the task's own")
    parser.add_argument("--population", type=int, default=4)
    given = parser.parse_args()
    if given.command == "figure":
        draw(Path(given.names[0] if given.names else "docs/real.svg"))
        return
    known = CHOSEN_ON if given.command == "choose" else tuple(TASKS)
    unknown = [name for name in given.names if name not in known]
    if unknown:
        parser.error(f"a task is one of {', '.join(known)}, but got {unknown[0]}")
    tasks = given.names or list(known)
    if given.command == "show":
        print("\n".join(show()))
        return
    if given.command == "choose":
        choose(tasks)
        print("\n".join(show_choosing()))
        return
    for task in tasks:
        if given.command == "scan":
            if TASKS[task].trainable is None:
                print(f"{task}:", *scan(compiled(task), TASKS[task].intervals), sep="\n", flush=True)
            continue
        if given.command == "ceilings":
            find_ceilings(task)
            continue
        for method in given.methods.split(",") if given.methods else methods_of(task):
            cell = run_cell(task, method, given.population, given.seeds)
            print(f"{task} {method}: {cell.summary()}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except PopbanditsError as error:
        sys.exit(f"real: {error}")
