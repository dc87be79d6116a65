"""popbandits paper: the paper's table 1, run, resumed and shown."""

import sys
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from popbandits.paper import METHODS, PAPER, TASKS, cells, read_results, run_cell
from popbandits.run import Processes

paper = typer.Typer(no_args_is_help=True, help="The paper's experiments.")

_RESULTS = Path("results")


@paper.command("list")
def list_experiments() -> None:
    """List what can be run.

    Example: popbandits paper list
    """
    print(
        "table1: PPO, a million steps an agent, intervals of 50,000 steps, batch size, GAE lambda, clip, learning rate"
    )
    print(f"  environments: {', '.join(TASKS)}")
    print(f"  methods: {', '.join(METHODS)}")


@paper.command("run")
def run_experiment(
    env: Annotated[str, typer.Option(help="The environment.")] = "LunarLanderContinuous",
    population: Annotated[int, typer.Option(min=1, help="Agents.")] = 4,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0, 1, …")] = 5,
    methods: Annotated[str, typer.Option(help="Names, with commas between.")] = "rs,pbt,pb2-paper,pb2",
    scale: Annotated[float, typer.Option(help="Shrink the budget; results say so in their names.")] = 1.0,
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes.")] = None,
    results: Annotated[Path, typer.Option(help="The folder of results.")] = _RESULTS,
    runs: Annotated[Path, typer.Option(help="The folder of runs in progress.")] = Path("runs/paper"),
) -> None:
    """Run a part of table 1; cells that have a result are skipped, half-done ones are resumed.

    Example: popbandits paper run --env LunarLanderContinuous --population 4 --seeds 5 --methods rs,pbt,pb2
    """
    for cell in list(cells(env, population, methods.split(","), seeds, scale)):
        done = run_cell(cell, Processes(workers=workers), runs=runs, results=results)
        print(f"{cell.name}: best {done.best:.1f}, {done.steps:,} steps, {done.seconds:.0f} s", flush=True)


@paper.command()
def show(results: Annotated[Path, typer.Option(help="The folder of results.")] = _RESULTS) -> None:
    """Show the results beside the paper's: median of the best agent, range and number of seeds.

    Example: popbandits paper show
    """
    table = Table()
    found = read_results(results)
    methods = [method for method in METHODS if any(result.cell.method == method for result in found)]
    for name in ("environment", "B", "intervals", *methods):
        table.add_column(name, no_wrap=True)
    rows = sorted({(r.cell.env, r.cell.population, r.cell.intervals) for r in found})
    for env, population, intervals in rows:
        texts = []
        for method in methods:
            best = [
                r.best
                for r in found
                if (r.cell.env, r.cell.population, r.cell.intervals, r.cell.method)
                == (env, population, intervals, method)
            ]
            texts.append(f"{median(best):.0f} [{min(best):.0f}, {max(best):.0f}] n={len(best)}" if best else "")
        table.add_row(env, str(population), str(intervals), *texts)
        own = PAPER.get((env, population), {})
        table.add_row("  the paper", "", "20", *(str(own[m]) if m in own else "" for m in methods))
    (Console() if sys.stdout.isatty() else Console(width=200)).print(table)
