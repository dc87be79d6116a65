"""popbandits paper: the paper's experiments, run, resumed, shown and drawn."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from popbandits.cli._arguments import executor_of
from popbandits.cli._console import console, progress
from popbandits.cli._interrupts import interruptible
from popbandits.paper import EARLIER, EXPERIMENTS, METHODS, Result, cells, draw, read_results, rows, run_cell
from popbandits.view import with_error

paper = typer.Typer(no_args_is_help=True, help="The paper's experiments.")

Results = Annotated[Path, typer.Option(help="The folder of results.")]
_RESULTS = Path("results")


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
        judged = f"judged {with_error(done.judged, done.judged_error)}, best {done.best:.1f}"
        print(f"{number}/{len(part)} {cell.name}: {judged}, {spent}, {done.seconds:.0f} s", flush=True)


@paper.command()
def show(
    results: Results = _RESULTS,
    after: Annotated[int | None, typer.Option(min=1, help="The best after so many intervals, not after all.")] = None,
) -> None:
    """Show the results beside the paper's: median, range and number of seeds.

    "judged" is what the weights that a run chose are worth on 100 new episodes, or on the test images. The paper's
    measure is the best that any agent reported at any time, which rewards luck.

    Example: popbandits paper show --after 10
    """
    found = read_results(results)
    out = console()
    for name in EXPERIMENTS:
        own = [result for result in found if result.cell.experiment == name]
        if own:
            made = _table(own, name, after)
            out.print(made)
            if any(EARLIER in str(text) for column in made.columns for text in column.cells):
                print(f"{EARLIER} with an earlier trainer or strategy; `popbandits paper run {name}` makes these anew")
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


def _table(found: list[Result], name: str, after: int | None) -> Table:
    shown = list(rows(found, name, after))
    methods = [method for method in METHODS if any(row.texts[method] for row in shown)]
    table = Table(title=f"{name}: {EXPERIMENTS[name].title}", title_justify="left")
    for column in ("task", "B", "budget", "measure", *methods):
        table.add_column(column, no_wrap=True)
    for row in shown:
        texts = [row.texts[method] for method in methods]
        table.add_row(row.task, str(row.population), f"{row.scale:g}", row.measure, *texts)
    return table
