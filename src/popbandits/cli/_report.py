"""Reports: one run as HTML, several runs compared."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from popbandits._errors import OptionError, RunError
from popbandits.cli._console import console
from popbandits.run import RUNS, load
from popbandits.view import comparison, number, report, text, write_png
from popbandits.view.figures import compare_data, draw_compare, drawn

reports = typer.Typer()

Png = Annotated[Path | None, typer.Option(help="Also write each figure as a PNG file into this folder.")]


@reports.command("report")
def report_(
    folder: Annotated[Path, typer.Argument(help="The run's folder.", show_default=False)],
    output: Annotated[Path | None, typer.Option(help="The file; report.html in the run by default.")] = None,
    png: Png = None,
) -> None:
    """Write a report of a run: one HTML file with its figures, for offline reading.

    Example: popbandits report runs/my-run --png figures
    """
    run = load(folder)
    drawings = drawn(run)
    _write(output or folder / "report.html", report(run, drawings))
    if png is not None:
        _draw(drawings, png)


@reports.command()
def compare(
    folders: Annotated[list[Path], typer.Argument(help="Run folders, of several strategies and seeds.")],
    output: Annotated[Path | None, typer.Option(help="Also write the comparison as one HTML file.")] = None,
    png: Png = None,
) -> None:
    """Compare runs by strategy: median and middle half of the best over seeds, and whether they differ.

    Example: popbandits compare runs/pb2-* runs/pbt-*
    """
    runs = [load(folder) for folder in folders]
    compared = compare_data(runs)
    table = Table("strategy", "runs", f"median best {escape(text(compared.metric))}", "middle half")
    for name, finals in compared.finals.items():
        median, low, high = (part[-1] if part else None for part in compared.groups[name])
        table.add_row(escape(text(name)), str(len(finals)), number(median), f"{number(low)} to {number(high)}")
    shown = console()
    shown.print(table)
    shown.print(compared.said, markup=False)
    if output is not None:
        _write(output, comparison(runs))
    if png is not None:
        _draw({"compare": draw_compare(compared)}, png)


@reports.command()
def dashboard(
    directory: Annotated[Path, typer.Argument(help="The folder of runs, or one run's own.")] = RUNS,
    host: Annotated[str, typer.Option(help="The address; others than this machine's get a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for a free one.")] = 8765,
) -> None:
    """Show runs on a page that follows them while they train. It reads, and changes nothing.

    Example: popbandits dashboard runs
    """
    try:
        from popbandits.view.dashboard import serve
    except ModuleNotFoundError as missing:
        raise OptionError(f"the dashboard needs {missing.name}; pip install 'popbandits[view]'") from None
    with suppress(KeyboardInterrupt):  # the way to end it; there is nothing to resume
        serve(directory, host, port)


def _write(path: Path, page: str) -> None:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise RunError(f"{path} is a link or something else that is no plain file; name another with --output")
    beside = path.with_name(f".new-{path.name}")
    try:
        beside.unlink(missing_ok=True)
        with beside.open("x", encoding="utf-8", errors="backslashreplace") as out:
            out.write(page)
        os.replace(beside, path)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from None
    print(path)


def _draw(drawings: dict[str, dict[str, Any]], folder: Path) -> None:
    for path in write_png(drawings, folder):
        print(path)
