"""Tasks: what an executor is told to train, made of the log and the seed alone."""

from collections.abc import Iterable
from pathlib import Path

from popbandits._random import generator
from popbandits._types import Hparams
from popbandits.run._checkpoints import checkpoint_name, damage, folder_of
from popbandits.run._entries import DecisionEntry, Entry, ReportEntry
from popbandits.run._executor import Past, Task
from popbandits.run._settings import Settings


def make_task(
    settings: Settings,
    agent: int,
    interval: int,
    hparams: Hparams,
    source: int | None,
    load: str | None,
    attempt: int = 1,
    together: bool = False,
) -> Task:
    """Return the task of one attempt at an interval.

    Args:
        settings: of the run.
        agent, interval, hparams, source, load, attempt: of the task.
        together: whether all agents stay in memory, so that only fresh weights need a seed.
    """
    seed, reseed = 0, None
    if source is None or not together:
        seed = int(generator(settings.seed, "weights", interval, agent).integers(2**31))
    # What begins with weights of another's must not draw the numbers that others with these weights draw.
    if source != agent and (source is not None or settings.warm):
        reseed = int(generator(settings.seed, "copy", interval, agent).integers(2**31))
    name = checkpoint_name(agent, interval, attempt)
    return Task(agent, interval, attempt, hparams, load, name, seed, reseed, source)


def past_of(settings: Settings, entries: Iterable[Entry], checkpoints: Path) -> Past:
    """Return what a population has trained since its newest checkpoint that can still be used.

    Agents train in step: the reports of an interval lie between two decisions.
    """
    sealed: str | None = None
    damaged: dict[str, str] = {}
    batches: list[tuple[Task, ...]] = []
    reported = [0] * settings.size
    for entry in entries:
        if isinstance(entry, DecisionEntry):
            batches.append(
                tuple(
                    make_task(
                        settings,
                        a.agent,
                        reported[a.agent] + 1,
                        a.hparams,
                        a.source,
                        entry.loads.get(a.agent),
                        together=True,
                    )
                    for a in entry.decision.trained
                )
            )
        elif isinstance(entry, ReportEntry):
            reported[entry.agent] = entry.interval
            if entry.checkpoint is not None and "/" in entry.checkpoint and batches:
                name = folder_of(entry.checkpoint)
                if name == sealed or name in damaged or not (checkpoints / name).is_dir():
                    continue
                wrong = damage(checkpoints / name)
                if wrong is None:
                    sealed, batches = name, []
                else:
                    damaged[name] = wrong
    done = [batch for batch in batches if batch and all(reported[task.agent] >= task.interval for task in batch)]
    return Past(sealed, tuple(done), damaged)
