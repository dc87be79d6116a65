"""The life of a run: run, resume, stop, replay."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from popbandits._errors import RunError
from popbandits.cli._given import executor_of, space_of, target_of
from popbandits.run import Callback, Run, Settings, load, replay, resume, start
from popbandits.run._lock import holder
from popbandits.strategies import make_strategy
from popbandits.view import Lines, Live, number, pairs, text

life = typer.Typer()

Folder = Annotated[Path, typer.Argument(help="The run's folder.", show_default=False)]
Workers = Annotated[int | None, typer.Option(min=1, help="Worker processes; one for each core by default.")]
Where = Annotated[str, typer.Option(help="Where agents are trained: processes, inline or ray.")]
Deadline = Annotated[float | None, typer.Option(help="Seconds an interval may take before it is tried again.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but the result.")]


@life.command()
def run(
    target: Annotated[str, typer.Argument(help="module:Class, file.py:Class, or a built-in name.", show_default=False)],
    intervals: Annotated[int, typer.Option(min=1, help="Intervals of an agent.")] = 20,
    population: Annotated[int, typer.Option(min=1, help="Agents.")] = 4,
    space: Annotated[Path | None, typer.Option(help="The space, as TOML or JSON; else the trainable's own.")] = None,
    strategy: Annotated[str, typer.Option(help="pb2, pb2-paper, pbt, uniform, random, asha or bayes.")] = "pb2",
    constant: Annotated[list[str] | None, typer.Option("--set", help="Keep a hyperparameter at name=value.")] = None,
    metric: Annotated[str, typer.Option(help="The score among what step returns.")] = "score",
    mode: Annotated[str, typer.Option(help="max or min.")] = "max",
    seed: Annotated[int, typer.Option(min=0, help="Of every random choice.")] = 0,
    sync: Annotated[bool, typer.Option("--sync/--async", help="Whether agents wait for one another.")] = True,
    executor: Where = "processes",
    workers: Workers = None,
    deadline: Deadline = None,
    directory: Annotated[Path | None, typer.Option("--dir", help="The run's folder; a new one under runs/.")] = None,
    quiet: Quiet = False,
) -> None:
    """Train a population and learn the schedule of its hyperparameters.

    Example: popbandits run noisy-sgd --population 4 --intervals 20
    """
    found = target_of(target)
    found.load()
    settings = Settings(
        found,
        space_of(found, space, constant or []),
        make_strategy(strategy),
        population,
        intervals,
        seed,
        sync,
        metric,
        mode,
    )
    _show(start(settings, executor_of(executor, workers, deadline), directory, _progress(quiet)))


@life.command("resume")
def resume_command(
    folder: Folder,
    executor: Where = "processes",
    workers: Workers = None,
    deadline: Deadline = None,
    quiet: Quiet = False,
) -> None:
    """Go on with a run that was interrupted, as if it had never been.

    Example: popbandits resume runs/my-run
    """
    _show(resume(folder, executor=executor_of(executor, workers, deadline), callbacks=_progress(quiet)))


@life.command()
def stop(folder: Folder) -> None:
    """Ask a run to stop in order; `resume` goes on.

    Example: popbandits stop runs/my-run
    """
    load(folder)
    process = holder(folder)
    if process is None or process < 0:
        raise RunError(f"{folder} is not running")
    try:
        os.kill(process, signal.SIGTERM)
    except OSError as error:
        raise RunError(f"process {process} of {folder} cannot be told to stop: {error.strerror}") from None
    for _ in range(100):
        if holder(folder) is None:
            print(f"{folder} has stopped; `popbandits resume {folder}` goes on")
            return
        time.sleep(0.1)
    raise RunError(f"{folder} has not stopped within 10 s; process {process} still holds it")


@life.command("replay")
def replay_command(
    folder: Folder,
    seeds: Annotated[int, typer.Option(min=1, help="Models to train.")] = 4,
    agent: Annotated[str, typer.Option(help="Whose schedule: an agent's id, or best.")] = "best",
    executor: Where = "processes",
    workers: Workers = None,
    directory: Annotated[Path | None, typer.Option("--dir", help="The folder of the new run.")] = None,
    quiet: Quiet = False,
) -> None:
    """Train fresh weights under the learned schedule, with several seeds, to see whether it carries over.

    Example: popbandits replay runs/my-run --seeds 4
    """
    learned = load(folder)
    whose = int(agent) if agent.isdigit() else agent
    done = replay(
        learned,
        seeds=seeds,
        agent=whose,
        executor=executor_of(executor, workers, None),
        directory=directory,
        callbacks=_progress(quiet),
    )
    final = [float(done.history.score[done.history.agent == a][-1]) for a in range(seeds)]
    print(f"learned: {number(learned.best.score)}; replayed with {seeds} seeds: {', '.join(map(number, final))}")
    print(f"run: {done.directory}")


def _progress(quiet: bool) -> list[Callback]:
    if quiet:
        return []
    return [Live(Console())] if sys.stdout.isatty() else [Lines(sys.stdout)]


def _show(done: Run) -> None:
    best = done.best
    table = Table(box=None, show_header=False, padding=(0, 1))
    table.add_row(
        f"best {done.settings.metric}", f"{number(best.score)} (agent {best.agent}, interval {best.interval})"
    )
    table.add_row("hparams", escape(pairs(best.hparams)))
    table.add_row("checkpoint", escape(text(best.checkpoint)))
    table.add_row("run", escape(text(done.directory)))
    table.add_row("schedule", escape(f"popbandits schedule {text(done.directory)}"))
    table.add_row("figures", escape(f"popbandits report {text(done.directory)}"))
    console = Console() if sys.stdout.isatty() else Console(width=200)
    console.print(table)
    for warning in done.beliefs.warnings if done.beliefs else ():
        console.print(f"note: {warning}", markup=False, highlight=False)
