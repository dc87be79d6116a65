"""Looking at runs and at user code: status, list, schedule, history, check, verify."""

import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from popbandits._errors import OptionError, PopbanditsError, RunError
from popbandits.cli._arguments import space_of, target_of, values_of
from popbandits.cli._console import console
from popbandits.run import EXPLAINED, FILE, RUNS, Finding, check_trainable, load, verify
from popbandits.view import number, pairs, schedule_as_csv, standings, text, told, told_effects, with_error, write_csv

showing = typer.Typer()

_ROWS = 200  # agents that a table shows
_OFTEN = 3.0  # seconds between two words on how far a command is

Folder = Annotated[Path, typer.Argument(help="The run's folder.", show_default=False)]


@showing.command()
def status(
    folder: Annotated[Path | None, typer.Argument(help="The run's folder; the newest under runs/ by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, for scripts.")] = False,
) -> None:
    """Show where a run stands.

    Example: popbandits status runs/my-run --json
    """
    run = load(folder if folder is not None else _newest())
    state = run.status()
    if as_json:
        print(json.dumps(state))
        return
    out = console()
    out.print(
        f"{text(state['run'])}: {state['state']}, {state['reports']}/{state['budget']} reports",
        markup=False,
        highlight=False,
    )
    if state["best"] is not None:
        best = state["best"]
        score = with_error(best["score"], best["score_error"])
        out.print(
            f"best {text(state['metric'])} {score} (agent {best['agent']}, interval {best['interval']}): "
            f"{pairs(best['hparams'])}",
            markup=False,
            highlight=False,
        )
    table, standing = Table(box=None), standings(run.explanation)
    for name in ("agent", "interval", "score", "state", *(["standing"] if standing else []), "hparams"):
        table.add_column(name)
    for agent in state["agents"][:_ROWS]:
        shown = escape(pairs(agent["hparams"])) if agent["hparams"] else ""
        score = with_error(agent["score"], agent["score_error"])
        stands = [standing.get(agent["agent"], "")] if standing else []
        table.add_row(str(agent["agent"]), str(agent["interval"]), score, agent["state"], *stands, shown)
    out.print(table)
    if len(state["agents"]) > _ROWS:
        out.print(f"and {len(state['agents']) - _ROWS} agents more: --json has them all", markup=False, highlight=False)
    for line in () if run.explanation is None else told_effects(run.explanation):
        out.print(line, markup=False, highlight=False)
    if state["reports"] > EXPLAINED and hasattr(run.settings.strategy, "explain"):
        out.print(f"where agents stand is told of runs of up to {EXPLAINED:,} reports", markup=False, highlight=False)
    if run.beliefs is not None:
        for line in told(run.beliefs):
            out.print(line, markup=False, highlight=False)
    if state["config"]:
        out.print(f"config: {pairs(state['config'])}", markup=False, highlight=False)
    for note in state["notes"]:
        out.print(f"note: {text(note)}", markup=False, highlight=False)
    if state["failures"]:
        last = run.failures[-1]
        said = text(last.message)
        out.print(f"{state['failures']} failures; the last: agent {last.agent}: {said}", markup=False, highlight=False)


@showing.command("list")
def list_runs(
    directory: Annotated[Path, typer.Argument(help="The folder of runs.")] = RUNS,
) -> None:
    """List the runs in a folder.

    Example: popbandits list runs
    """
    table = Table(box=None)
    for name in ("run", "state", "reports", "best"):
        table.add_column(name)
    folders = _runs(directory)
    if not folders:
        raise RunError(f"there are no runs in {directory}")
    for folder in folders:
        try:
            state = load(folder).status()
        except PopbanditsError as error:
            table.add_row(escape(text(folder.name)), "unreadable", "", escape(text(error)))
            continue
        except Exception as error:  # whatever is strange in one folder, the list shows the others
            said = f"{type(error).__name__}: {error!s:.200}"
            table.add_row(escape(text(folder.name)), "unreadable", "", escape(text(said)))
            continue
        best = number(state["best"]["score"]) if state["best"] else "-"
        table.add_row(escape(text(folder.name)), state["state"], f"{state['reports']}/{state['budget']}", best)
    console().print(table)


@showing.command()
def schedule(
    folder: Folder,
    agent: Annotated[str, typer.Option(help="Whose weights: an agent's id, or best.")] = "best",
    form: Annotated[str, typer.Option("--format", help="table, json or csv.")] = "table",
) -> None:
    """Show the schedule that an agent's weights were trained with, through all their donors.

    Example: popbandits schedule runs/my-run --format csv
    """
    run = load(folder)
    learned = run.schedule(int(agent) if agent.isdigit() else agent)
    rows = [run.settings.space.flat(hparams) for hparams in learned]
    if form == "json":
        print(json.dumps([{"interval": i, **row} for i, row in enumerate(rows, 1)]))
    elif form == "csv":
        print(schedule_as_csv(run.settings.space, learned), end="")
    elif form == "table":
        table = Table(box=None)
        for name in ("interval", *rows[0]):
            table.add_column(escape(text(name)), justify="right")
        for i, row in enumerate(rows, 1):
            table.add_row(str(i), *(number(v) if isinstance(v, float) else escape(text(v)) for v in row.values()))
        console().print(table)
    else:
        raise OptionError(f"a format is one of table, json, csv, but got {form!r}")


@showing.command()
def history(
    folder: Folder,
    form: Annotated[str, typer.Option("--format", help="csv or json.")] = "csv",
) -> None:
    """Write every report: agent, interval, score, donor, hparams and all that step returned.

    Example: popbandits history runs/my-run > reports.csv
    """
    names, rows = load(folder).rows()
    if form == "csv":
        write_csv(sys.stdout, names, rows)
    elif form == "json":
        before = "["
        for row in rows:
            print(before, json.dumps(dict(zip(names, map(_plain, row), strict=True))), sep="", end="")
            before = ", "
        print("[]" if before == "[" else "]")
    else:
        raise OptionError(f"a format is one of csv, json, but got {form!r}")


@showing.command()
def check(
    target: Annotated[str, typer.Argument(help="module:Class, file.py:Class, or a built-in name.", show_default=False)],
    space: Annotated[Path | None, typer.Option(help="The space, as TOML or JSON; else the trainable's own.")] = None,
    metric: Annotated[str, typer.Option(help="The score among what step returns.")] = "score",
    config: Annotated[list[str] | None, typer.Option(help="A setting of the trainable's, as name=value.")] = None,
) -> None:
    """Test a trainable: train it, save it, load it, change its hparams.

    Example: popbandits check my_model.py:Model --space space.toml
    """
    found = target_of(target)
    own = values_of("--config", config)
    _report(check_trainable(found.load(), space_of(found, space, []), metric=metric, config=own))


@showing.command("verify")
def verify_command(folder: Folder) -> None:
    """Check a run's folder: log, checkpoints and decisions.

    Example: popbandits verify runs/my-run
    """
    _report(verify(folder, _looked_at()))


def _looked_at() -> Callable[[int, int], None]:
    """Return what says on standard error, every few seconds, how far a long look at a log is."""
    told = time.monotonic()

    def progress(done: int, events: int) -> None:
        nonlocal told
        if time.monotonic() - told > _OFTEN:
            told = time.monotonic()
            print(f"{done / events:.0%} of the log is verified", file=sys.stderr, flush=True)

    return progress


def _report(findings: Sequence[Finding]) -> None:
    for finding in findings:
        print(f"{'tip' if finding.tip else 'ok ' if finding.ok else 'NOT'}  {text(finding.text)}")
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


def _runs(directory: Path) -> list[Path]:
    return sorted(path.parent for path in directory.glob(f"*/{FILE}")) if directory.is_dir() else []


def _newest() -> Path:
    folders = _runs(RUNS)
    if not folders:
        raise RunError(f"there are no runs in {RUNS}; name a run's folder")
    return max(folders, key=lambda folder: (folder / FILE).stat().st_mtime)


def _plain(value: Any) -> Any:
    """Return a number as JSON has it: a whole one of numpy's as Python's, and null for what is not finite."""
    plain = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain
