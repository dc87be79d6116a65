"""popbandits bench: strategies on problems with a known optimum."""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from popbandits.problems import BITING, FAMILIES, REFERENCES, Regrets, quality

bench = typer.Typer(no_args_is_help=True, help="Measure strategies on problems with a known optimum.")

_STRATEGIES = ",".join(("random", "pbt", "uniform", "pb2-paper", "pb2", *REFERENCES))


@bench.callback()
def _bench() -> None:
    """Measure strategies on problems with a known optimum."""


@bench.command("quality")
def bench_quality(
    strategies: Annotated[str, typer.Option(help="Names, with commas between.")] = _STRATEGIES,
    problems: Annotated[str, typer.Option(help="Names, with commas between, or 'all'.")] = "all",
    seeds: Annotated[int, typer.Option(min=2, help="Runs of each strategy on each problem.")] = 20,
    population: Annotated[int, typer.Option(min=1, help="Agents.")] = 4,
    intervals: Annotated[int, typer.Option(min=1, help="Intervals of an agent.")] = 20,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
) -> None:
    """Print the normalised regret of strategies on problems: 0 is the optimum, 1 is not having trained.

    Where no optimum is known, 0 is what a good schedule reaches. "best constant" and "good schedule" are references:
    hparams that a search has found, for problems that have them.

    Example: popbandits bench quality --strategies pbt,pb2 --problems peak-3d --seeds 10
    """
    names = [name.strip() for name in strategies.split(",")]
    chosen = list(BITING | FAMILIES) if problems == "all" else [name.strip() for name in problems.split(",")]
    console = Console() if sys.stdout.isatty() else Console(width=100)
    cells: dict[tuple[str, str], Regrets] = {}
    runs = quality(names, chosen, seeds=seeds, size=population, intervals=intervals, workers=workers)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("running", total=len(names) * len(chosen))
        for cell in runs:
            cells[cell.problem, cell.strategy] = cell
            progress.update(task, advance=1, description=f"{cell.problem} {cell.strategy}")
    console.print(
        f"normalised regret, mean ± 95 % interval of {seeds} seeds, {population} agents, {intervals} intervals; "
        "0 is the optimum, 1 is not having trained",
        soft_wrap=True,
    )
    table = Table()
    table.add_column("problem", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for problem in chosen:
        row = {name: cells[problem, name] for name in names if (problem, name) in cells}
        best = min((cell.mean for name, cell in row.items() if name not in REFERENCES), default=None)
        table.add_row(problem, *(_text(row.get(name), best) for name in names))
    console.print(table)


def _text(cell: Regrets | None, best: float | None) -> str:
    """Return a mean with its interval, the best strategy's in bold; nothing where there is none."""
    if cell is None:
        return ""
    text = f"{cell.mean:.3f} ±{cell.half_width:.3f}"
    return f"[bold]{text}[/bold]" if cell.mean == best else text
