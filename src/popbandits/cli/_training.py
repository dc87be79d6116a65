"""The life of a run: run, resume, stop, replay."""

import os
import shlex
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.markup import escape
from rich.table import Table

from popbandits._errors import OptionError, RunError
from popbandits.cli._arguments import (
    executor_for_more,
    executor_of,
    initial_of,
    space_of,
    strategy_of,
    target_of,
    values_of,
)
from popbandits.cli._console import console, progress
from popbandits.cli._interrupts import interruptible
from popbandits.run import Callback, Mode, Run, Settings, holder, holds, load, replay, resume, start
from popbandits.view import number, pairs, text, with_error

training = typer.Typer()

Folder = Annotated[Path, typer.Argument(help="The run's folder.", show_default=False)]
Workers = Annotated[int | None, typer.Option(min=1, help="Worker processes; one for each core by default.")]
Where = Annotated[str, typer.Option(help="Where agents are trained: processes, inline, ray or vectorised.")]
Again = Annotated[
    str | None, typer.Option(help="Where agents are trained: vectorised for a run that was, else processes by default.")
]
Graphics = Annotated[
    str | None, typer.Option("--gpus", help="GPUs to share out: how many, auto, or ids as 0,1 (one as 2,).")
]
Deadline = Annotated[float | None, typer.Option(help="Seconds an interval may take before it is tried again.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show nothing but the result.")]


@training.command()
def run(
    target: Annotated[str, typer.Argument(help="module:Class, file.py:Class, or a built-in name.", show_default=False)],
    intervals: Annotated[int, typer.Option(min=1, help="Intervals that each agent trains.")] = 20,
    population: Annotated[int, typer.Option(min=1, help="Number of agents.")] = 4,
    space: Annotated[Path | None, typer.Option(help="The space, as TOML or JSON; else the trainable's own.")] = None,
    strategy: Annotated[
        str, typer.Option(help="pb2, pb2-paper, pbt, uniform, random, asha, bayes, or your own as module:Class.")
    ] = "pb2",
    option: Annotated[list[str] | None, typer.Option(help="An option of the strategy, as name=value.")] = None,
    constant: Annotated[list[str] | None, typer.Option("--set", help="Keep a hyperparameter at name=value.")] = None,
    metric: Annotated[str, typer.Option(help="The score among what step returns.")] = "score",
    mode: Annotated[str, typer.Option(help="max or min.")] = "max",
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random choices.")] = 0,
    sync: Annotated[bool, typer.Option("--sync/--async", help="Whether agents wait for one another.")] = True,
    config: Annotated[list[str] | None, typer.Option(help="A setting of the trainable's, as name=value.")] = None,
    initial: Annotated[list[str] | None, typer.Option(help="Hparams of one of the first agents, as JSON.")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="A folder with weights that all agents start from.")] = None,
    executor: Where = "processes",
    workers: Workers = None,
    gpus: Graphics = None,
    deadline: Deadline = None,
    every: Annotated[
        int | None, typer.Option("--checkpoint-every", min=1, help="Intervals between checkpoints, with vectorised.")
    ] = None,
    retries: Annotated[int, typer.Option(min=0, help="How often an interval that failed is tried again.")] = 2,
    directory: Annotated[Path | None, typer.Option("--dir", help="The run's folder; a new one under runs/.")] = None,
    quiet: Quiet = False,
) -> None:
    """Train a population and learn the schedule of its hyperparameters.

    Example: popbandits run noisy-sgd --population 4 --intervals 20
    """
    found = target_of(target)
    own = values_of("--config", config)
    if "seed" in own:
        raise OptionError("--config cannot set 'seed': every agent is made with a seed of its own; give --seed")
    found.load(own)
    settings = Settings(
        found,
        space_of(found, space, constant or []),
        strategy_of(strategy, option or []),
        population,
        intervals,
        seed,
        sync,
        metric,
        cast("Mode", mode),  # checked by Settings
        retries,
        own,
        initial_of(initial),
        checkpoint is not None,
    )
    where = executor_of(executor, workers, deadline, gpus, every)
    _show(_unless_interrupted(lambda callbacks: start(settings, where, directory, callbacks, checkpoint), quiet))


@training.command("resume")
def resume_command(
    folder: Folder,
    intervals: Annotated[int | None, typer.Option(min=1, help="Make the run longer: intervals of an agent.")] = None,
    target: Annotated[str | None, typer.Option(help="The trainable, when it is no longer where it was.")] = None,
    executor: Again = None,
    workers: Workers = None,
    gpus: Graphics = None,
    deadline: Deadline = None,
    quiet: Quiet = False,
) -> None:
    """Continue a run that was interrupted, or make a run longer.

    Example: popbandits resume runs/my-run --intervals 40
    """
    before = load(folder)
    if before.finished and intervals in (None, before.settings.intervals):
        print(f"{folder} had ended already:")
        _show(before)
        return
    moved = None if target is None else target_of(target)
    where = executor_for_more(executor, workers, deadline, gpus)

    def go_on(callbacks: list[Callback]) -> Run:
        return resume(folder, intervals=intervals, trainable=moved, executor=where, callbacks=callbacks, progress=False)

    _show(_unless_interrupted(go_on, quiet))


@training.command()
def stop(folder: Folder) -> None:
    """Ask a run to stop in order; `resume` goes on.

    Example: popbandits stop runs/my-run
    """
    load(folder)
    process = holder(folder)
    if process is None or process < 0:
        raise RunError(f"{folder} is not running")
    if not holds(process, folder):
        raise RunError(f"the lock of {folder} names process {process}, which does not hold it; nothing was stopped")
    try:
        os.kill(process, signal.SIGTERM)
    except OSError as error:
        raise RunError(f"process {process} of {folder} cannot be told to stop: {error.strerror}") from None
    for _ in range(100):
        if holder(folder) is None:
            print(f"{folder} has stopped; `popbandits resume {_quoted(folder)}` goes on")
            return
        time.sleep(0.1)
    raise RunError(f"{folder} has not stopped within 10 s; process {process} still holds it")


@training.command("replay")
def replay_command(
    folder: Folder,
    seeds: Annotated[int, typer.Option(min=1, help="Models to train.")] = 4,
    agent: Annotated[str, typer.Option(help="Whose schedule: an agent's id, or best.")] = "best",
    target: Annotated[str | None, typer.Option(help="The trainable, when it is no longer where it was.")] = None,
    executor: Again = None,
    workers: Workers = None,
    directory: Annotated[Path | None, typer.Option("--dir", help="The folder of the new run.")] = None,
    quiet: Quiet = False,
) -> None:
    """Train fresh weights under the learned schedule, with several seeds, to see whether it carries over.

    Example: popbandits replay runs/my-run --seeds 4
    """
    learned = load(folder)
    whose = int(agent) if agent.isdigit() else agent
    where = executor_for_more(executor, workers)
    done = _unless_interrupted(
        lambda callbacks: replay(
            learned,
            seeds=seeds,
            agent=whose,
            trainable=None if target is None else target_of(target),
            executor=where,
            directory=directory,
            callbacks=callbacks,
            progress=False,
        ),
        quiet,
    )
    final = [float(done.history.score[done.history.agent == a][-1]) for a in range(seeds)]
    own = learned.history.score[learned.history.agent == whose]
    score = learned.best.score if whose == "best" else float(own[-1])
    with_seeds = f"{seeds} seed{'s' if seeds > 1 else ''}"
    print(f"learned: {number(score)}; replayed with {with_seeds}: {', '.join(map(number, final))}")
    print(f"run: {done.directory}")


class _Place(Callback):
    """Remembers where a run is, for what is said when it is interrupted."""

    def __init__(self) -> None:
        self.directory: Path | None = None

    def on_start(self, run: Run) -> None:
        self.directory = run.directory

    def what_goes_on(self) -> str | None:
        return None if self.directory is None else f"`popbandits resume {_quoted(self.directory)}`"


def _unless_interrupted(train: Callable[[list[Callback]], Run], quiet: bool) -> Run:
    place = _Place()
    with interruptible(place.what_goes_on):
        return train([*progress(quiet), place])


def _quoted(path: Path) -> str:
    return shlex.quote(text(path))


def _show(done: Run) -> None:
    best = done.best
    table = Table(box=None, show_header=False, padding=(0, 1))
    score = with_error(best.score, best.score_error)
    table.add_row(
        escape(f"best {text(done.settings.metric)}"), f"{score} (agent {best.agent}, interval {best.interval})"
    )
    table.add_row("hparams", escape(pairs(best.hparams)))
    table.add_row("checkpoint", escape(text(best.checkpoint)))
    table.add_row("run", escape(text(done.directory)))
    if done.failures:
        last = text(done.failures[-1].message)
        table.add_row("failures", escape(f"{len(done.failures)} attempts failed; the last: {last}"))
    table.add_row("schedule", escape(f"popbandits schedule {_quoted(done.directory)}"))
    table.add_row("figures", escape(f"popbandits report {_quoted(done.directory)}"))
    out = console()
    out.print(table)
    for warning in done.beliefs.warnings if done.beliefs else ():
        out.print(f"note: {warning}", markup=False, highlight=False)
