"""Driving a population in tests: reports in any order, events kept."""

import math
import os
import signal
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import popbandits as pb
from popbandits._random import generator
from popbandits.population import Event, Job, Population, Strategy, View

Score = Callable[[Job], float]


class Interrupt(pb.Callback):
    """Ctrl-C, after some reports."""

    def __init__(self, after: int) -> None:
        self.left = after

    def on_entry(self, entry: Any) -> None:
        self.left -= entry.kind == "report"
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)


def noisy_sum(job: Job) -> float:
    """A score that grows, depends on the hparams and carries noise that only (interval, agent) decides."""
    gain = 1.0 - float(np.sum((job.point - 0.6) ** 2))
    return job.interval * gain + 0.1 * float(generator(1, "test", job.interval, job.agent).standard_normal())


def sometimes_nan(job: Job) -> float:
    drawn = generator(2, "nan", job.interval, job.agent).random()
    return math.nan if drawn < 0.2 else math.inf if drawn < 0.25 else -math.inf if drawn < 0.3 else noisy_sum(job)


def constant(_: Job) -> float:
    return 0.0


def run(
    population: Population, score: Score = noisy_sum, *, order: int = 0, most: float = math.inf, start: bool = True
) -> list[Event]:
    """Drive to the end, or for `most` reports; `order` seeds who reports first. Return the events."""
    rng = np.random.default_rng(order)
    events: list[Event] = []
    if start:
        events.append(pb.Decision(tuple(population.start()), population.notes))
    reports = 0
    while population.training and reports < most:
        job = list(population.training.values())[int(rng.integers(len(population.training)))]
        value = score(job)
        actions = population.tell(job.agent, value)
        events.append(pb.Report(job.agent, job.interval, value))
        if actions:
            events.append(pb.Decision(tuple(actions), population.notes))
        reports += 1
    return events


def decisions(events: Iterable[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, pb.Decision)]


def state(population: Population) -> dict[str, Any]:
    """All that a population is, as plain values."""
    history = population.history
    columns = ("agent", "interval", "score", "donor", "before", "improvement", "points", "values")
    return {
        "history": {name: np.nan_to_num(getattr(history, name), nan=-12345.0).tolist() for name in columns},
        "training": {a: (j.interval, dict(j.hparams), j.source, j.before) for a, j in population.training.items()},
        "notes": population.notes,
        "finished": population.finished,
    }


def make(strategy: Strategy, size: int = 4, intervals: int = 6, **options: Any) -> Population:
    space = options.pop("space", {"x": (0.0, 1.0), "y": pb.Float(1e-4, 1.0, log=True)})
    return Population(space, strategy, size=size, intervals=intervals, **options)


def grow(population: Population, gain: Callable[[Any], float], error: Callable[[], float] = lambda: 0.0) -> None:
    """Train to the end: weights are a sum of gains, which a copy takes over; a score is that sum and an error."""
    totals: dict[int, float] = {}
    actions = population.start()
    while actions:
        before, released = dict(totals), []
        for action in actions:
            if action.hparams is not None:
                begun = 0.0 if action.source is None else before[action.source]
                totals[action.agent] = begun + gain(action.hparams)
                released += population.tell(action.agent, totals[action.agent] + error())
        actions = released


def seen(scores: list[float]) -> View:
    """A population after one interval at random hparams."""
    population = Population({"x": (0.0, 1.0)}, pb.RandomSearch(), size=len(scores), intervals=2)
    population.start()
    for agent, score in enumerate(scores):
        population.tell(agent, score)
    return View(population.space, len(scores), 2, 0, population.history, tuple(range(len(scores))), {}, {})
