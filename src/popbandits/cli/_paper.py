"""popbandits paper: the paper's experiments, run, resumed, shown and drawn."""

from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.table import Table

from popbandits.cli._console import console, progress
from popbandits.cli._given import executor_of
from popbandits.cli._interrupts import interruptible
from popbandits.paper import EXPERIMENTS, METHODS, Result, cells, draw, of_today, read_results, run_cell

paper = typer.Typer(no_args_is_help=True, help="The paper's experiments.")

Results = Annotated[Path, typer.Option(help="The folder of results.")]
_RESULTS = Path("results")
_EARLIER = "†"


@paper.command("list")
def list_experiments() -> None:
    """List what can be run.

    Example: popbandits paper list
    """
    for found in EXPERIMENTS.values():
        print(f"{found.name}: {found.title}")
        sizes = " and ".join(map(str, found.populations))
        print(f"  tasks {', '.join(found.tasks)}; {sizes} agents; {found.seeds} seeds")
        print(f"  an agent trains {found.intervals} intervals of {found.interval:,} {found.unit}")
    print(f"methods: {', '.join(METHODS)}")


@paper.command("run")
def run_experiment(
    experiment: Annotated[str, typer.Argument(help=f"One of {', '.join(EXPERIMENTS)}.")] = "table1",
    task: Annotated[str | None, typer.Option("--task", "--env", help="The task; all of them by default.")] = None,
    population: Annotated[int | None, typer.Option(min=1, help="Agents; by default the paper's.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Seeds 0, 1, …; by default the paper's.")] = None,
    methods: Annotated[str, typer.Option(help="Names, with commas between.")] = "rs,bo,asha,pbt,pb2-paper,pb2",
    scale: Annotated[float, typer.Option(help="Spend a part of the budget; results say so in their names.")] = 1.0,
    executor: Annotated[str, typer.Option(help="Where agents are trained: processes, inline or ray.")] = "processes",
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but results.")] = False,
    results: Results = _RESULTS,
    runs: Annotated[Path, typer.Option(help="The folder of runs in progress.")] = Path("runs/paper"),
) -> None:
    """Run an experiment or a part of it; cells with a result of today's trainer are skipped, half-done ones resumed.

    Example: popbandits paper run table1 --env LunarLanderContinuous --population 4 --seeds 5 --methods rs,pbt,pb2
    """
    part = list(cells(experiment, methods.split(","), task=task, population=population, seeds=seeds, scale=scale))
    for number, cell in enumerate(part, 1):
        where = executor_of(executor, workers, max(60.0, cell.interval / EXPERIMENTS[experiment].slowest))
        with interruptible(lambda: "the same command"):
            done = run_cell(cell, where, runs=runs, results=results, callbacks=progress(quiet))
        spent = f"{done.steps:,} {EXPERIMENTS[experiment].unit}"
        print(f"{number}/{len(part)} {cell.name}: best {done.best:.1f}, {spent}, {done.seconds:.0f} s", flush=True)


@paper.command()
def show(
    results: Results = _RESULTS,
    after: Annotated[int | None, typer.Option(min=1, help="The best after so many intervals, not after all.")] = None,
) -> None:
    """Show the results beside the paper's: median of the best agent, range and number of seeds.

    Example: popbandits paper show --after 10
    """
    found = read_results(results)
    out = console()
    for name, experiment in EXPERIMENTS.items():
        own = [result for result in found if result.cell.experiment == name]
        if own:
            made = _table(own, f"{name}: {experiment.title}", after)
            out.print(made)
            if any(_EARLIER in str(text) for column in made.columns for text in column.cells):
                print(f"{_EARLIER} with an earlier trainer or strategy; `popbandits paper run {name}` makes these anew")
    if not found:
        print(f"no result in {results} yet; make some with: popbandits paper run")


@paper.command()
def figures(
    folder: Annotated[Path, typer.Argument(help="Where to write them.")] = Path("results/figures"),
    results: Results = _RESULTS,
) -> None:
    """Draw the learning curves of all results, one figure for each task and population size.

    Example: popbandits paper figures docs/figures
    """
    for file in draw(results, folder):
        print(file)


def _table(found: list[Result], title: str, after: int | None) -> Table:
    methods = [method for method in METHODS if any(result.cell.method == method for result in found)]
    experiment = EXPERIMENTS[found[0].cell.experiment]
    table = Table(title=title, title_justify="left")
    for name in ("task", "B", "budget", *methods):
        table.add_column(name, no_wrap=True)
    for task, population, scale in sorted({(r.cell.task, r.cell.population, r.cell.scale) for r in found}):
        texts = []
        for method in methods:
            where = (task, population, scale, method)
            those = [r for r in found if (r.cell.task, r.cell.population, r.cell.scale, r.cell.method) == where]
            texts.append(_summary(those, experiment.digits, after))
        table.add_row(task, str(population), f"{scale:g}", *texts)
        own = experiment.paper.get((task, population), {})
        if after is None and any(method in own for method in methods):
            table.add_row("  the paper", "", "1", *(f"{own[m]:g}" if m in own else "" for m in methods))
    return table


def _summary(found: list[Result], digits: int, after: int | None) -> str:
    if not found:
        return ""
    shown = of_today(found)
    best = [result.best if after is None else result.curve[:after][-1] for result in shown]
    mark = "" if all(result.current for result in shown) else f" {_EARLIER}"
    if len(shown) < len(found):
        mark = f", {len(found) - len(shown)} {_EARLIER} left out"
    return f"{median(best):.{digits}f} [{min(best):.{digits}f}, {max(best):.{digits}f}] n={len(best)}{mark}"
