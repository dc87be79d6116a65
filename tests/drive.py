"""Driving a population in tests: reports in any order, events kept."""

import os
import signal
from collections.abc import Callable
from typing import Any

import numpy as np

import popbandits as pb
from popbandits.population import Job, Population, Strategy, View
from popbandits.run import ReportEntry


class Interrupt(pb.Callback):
    """Ctrl-C, after some reports."""

    def __init__(self, after: int) -> None:
        self.left = after

    def on_entry(self, entry: Any) -> None:
        self.left -= isinstance(entry, ReportEntry)
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)


def constant(_: Job) -> float:
    return 0.0


def trained(decision: pb.Decision | None) -> tuple[pb.Train, ...]:
    """The agents that a decision lets train on; none while there is no decision."""
    return () if decision is None else decision.trained


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
    decision = population.start()
    while population.training:
        before = dict(totals)
        for action in decision.trained:
            begun = 0.0 if action.source is None else before[action.source]
            totals[action.agent] = begun + gain(action.hparams)
            decision = population.tell(action.agent, totals[action.agent] + error()) or decision


def seen(scores: list[float]) -> View:
    """A population after one interval at random hparams."""
    population = Population({"x": (0.0, 1.0)}, pb.RandomSearch(), size=len(scores), intervals=2)
    population.start()
    for agent, score in enumerate(scores):
        population.tell(agent, score)
    return View(population.space, len(scores), 2, 0, population.history, tuple(range(len(scores))), {}, {})
