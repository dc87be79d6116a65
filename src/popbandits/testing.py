"""Tests for strategies of your own: what every strategy promises, as functions that raise AssertionError.

    import pytest
    from popbandits.testing import STRATEGY_CHECKS

    @pytest.mark.parametrize("check", STRATEGY_CHECKS)
    def test_my_strategy(check):
        check(MyStrategy())

Each check drives populations with made-up scores. It needs no training, no process and no file.
"""

import json
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from popbandits._random import generator
from popbandits.population import Decision, Event, Job, Population, Report, Strategy, Train
from popbandits.space import Choice, Float, Int, Space, SpaceLike
from popbandits.strategies import describe_strategy, restore_strategy

Score: TypeAlias = Callable[[Job], float]
"""What an agent reports at the end of an interval."""

MIXED = Space(
    {
        "lr": Float(1e-5, 1e-1, log=True),
        "gamma": Float(0.9, 0.999, logit=True),
        "net": {"depth": Int(1, 5), "act": Choice("relu", "tanh", "gelu")},
        "fixed": 7,
        "narrow": Float(0.5, 0.5),
    }
)
"""A space with a parameter of every kind."""

SPACES: tuple[SpaceLike, ...] = (
    {"only": Float(1, 1)},
    {"a": 3},
    {},
    {"c": Choice("a", "b")},
    {"n": Int(1, 2)},
    {"a": (0.0, 1.0), "b": Float(2, 2), "c": Choice(None)},
    {f"x{j}": (0.0, 1.0) for j in range(12)},
)
"""Spaces that are easily got wrong: empty, constant, of one value, of many dimensions."""


def growing(job: Job) -> float:
    """Return a score that grows, depends on the hparams, and carries noise that only interval and agent decide."""
    gain = 1.0 - float(np.sum((job.point - 0.6) ** 2))
    return job.interval * gain + 0.1 * float(generator(1, "test", job.interval, job.agent).standard_normal())


def sometimes_lost(job: Job) -> float:
    """Return what `growing` does, but nan or an infinity for three agents in ten."""
    drawn = generator(2, "nan", job.interval, job.agent).random()
    return math.nan if drawn < 0.2 else math.inf if drawn < 0.25 else -math.inf if drawn < 0.3 else growing(job)


SCORES: tuple[Score, ...] = (
    growing,
    sometimes_lost,
    lambda _: 0.0,
    lambda _: math.nan,
    lambda _: 1e300,
    lambda job: -(10.0**job.agent),
)


def drive(population: Population, score: Score = growing, *, order: int = 0, most: float = math.inf) -> list[Event]:
    """Train a population to its end, or for `most` reports, and return the events that this added.

    Args:
        population: begun or not.
        score: what agents report.
        order: seeds who reports first.
        most: reports.
    """
    rng = np.random.default_rng(order)
    before = len(population.events)
    if not population.events:
        population.start()
    reports = 0
    while population.training and reports < most:
        job = list(population.training.values())[int(rng.integers(len(population.training)))]
        population.tell(job.agent, score(job))
        reports += 1
    return population.events[before:]


def decisions(events: Iterable[Event]) -> list[Decision]:
    """Return the decisions among events."""
    return [event for event in events if isinstance(event, Decision)]


def check_ends_within_its_budget(strategy: Strategy) -> None:
    """Whatever the number of agents, in step and out of step, the run ends, and every action can be carried out."""
    for size in (1, 2, 3, 4, 64):
        for sync in (True, False):
            intervals = 6 if size < 64 else 3
            population = Population(MIXED, strategy, size=size, intervals=intervals, sync=sync)
            events = drive(population)
            assert population.finished, f"{size} agents: the run has not ended"
            reports, budget = len(population.history), size * intervals
            assert reports <= budget, f"{size} agents trained {reports} intervals, but may train {budget}"
            check_actions(population, decisions(events))


def check_takes_every_score(strategy: Strategy) -> None:
    """Scores that are nan, infinite, equal or huge do not stop a run."""
    for sync in (True, False):
        for score in SCORES:
            population = Population(MIXED, strategy, size=4, intervals=8, sync=sync)
            events = drive(population, score)
            assert population.finished, "the run has not ended"
            check_actions(population, decisions(events))


def check_takes_every_space(strategy: Strategy) -> None:
    """Spaces that are empty, constant or large do not stop a run."""
    for space in SPACES:
        population = Population(space, strategy, size=4, intervals=5)
        events = drive(population)
        assert population.finished, f"the run over {space} has not ended"
        check_actions(population, decisions(events))


def check_depends_on_the_seed_alone(strategy: Strategy) -> None:
    """In step, the same seed gives the same decisions, whoever reports first; another seed gives others."""

    def decided(seed: int, order: int) -> list[Decision]:
        return decisions(drive(Population(MIXED, strategy, size=4, intervals=6, seed=seed), order=order))

    first = decided(3, 0)
    for order in (1, 2):
        assert decided(3, order) == first, "the decisions depend on who reports first; draw from `generator` only"
    assert decided(4, 0) != first, "another seed gives the same decisions; draw from `generator(view.seed, …)`"


def check_is_rebuilt_from_its_events(strategy: Strategy) -> None:
    """Restored from events that were text in between, a population decides as the one that was never away."""
    for sync in (True, False):
        for score in (growing, sometimes_lost):
            for most in (0, 1, 5, 11, 17):
                options: dict[str, Any] = {"size": 4, "intervals": 6, "seed": 1, "sync": sync}
                live = Population(MIXED, strategy, **options)
                drive(live, score, most=most)
                rebuilt = Population.restore(MIXED, strategy, as_text_and_back(live.events), **options)
                assert rebuilt.overdue() is None, "a restored population owes a decision that was made"
                ours, theirs = (decisions(drive(one, score, order=9)) for one in (live, rebuilt))
                assert ours == theirs, f"restored after {most} reports it decides otherwise; keep everything in notes"


def check_makes_the_decision_it_owes(strategy: Strategy) -> None:
    """Events that end before a decision lead to that decision."""
    options: dict[str, Any] = {"size": 3, "intervals": 4, "seed": 5}
    events = drive(Population(MIXED, strategy, **options))
    at = [i for i, event in enumerate(events) if isinstance(event, Decision)][2]
    owed = Population.restore(MIXED, strategy, events[:at], **options).overdue()
    assert owed == events[at], "the decision that reports lead to is another after a restore; keep everything in notes"


def check_can_be_kept(strategy: Strategy) -> None:
    """Its name and options, as JSON, lead back to it, and so do the notes of its decisions."""
    described = json.loads(json.dumps(describe_strategy(strategy)))
    again = restore_strategy(described)
    load = getattr(again, "load", None)
    assert (again if load is None else load()) == strategy, f"{described} does not lead back to {strategy}"
    for decision in decisions(drive(Population(MIXED, strategy, size=4, intervals=6))):
        notes = dict(decision.notes)
        assert json.loads(json.dumps(notes, allow_nan=False)) == notes, f"the notes {notes} are not plain JSON"


STRATEGY_CHECKS: tuple[Callable[[Strategy], None], ...] = (
    check_ends_within_its_budget,
    check_takes_every_score,
    check_takes_every_space,
    check_depends_on_the_seed_alone,
    check_is_rebuilt_from_its_events,
    check_makes_the_decision_it_owes,
    check_can_be_kept,
)
"""What every strategy promises."""


def check_actions(population: Population, made: Iterable[Decision]) -> None:
    """Refuse actions that cannot be carried out: hparams outside the space, sources without weights, two for one."""
    trained: set[int] = set()
    for decision in made:
        agents = [action.agent for action in decision]
        assert len(set(agents)) == len(agents), f"an agent has two actions in one decision: {agents}"
        for action in decision:
            assert 0 <= action.agent < population.size, f"there is no agent {action.agent}"
            if isinstance(action, Train):
                population.space.encode(action.hparams)
                assert action.source is None or action.source in trained, f"agent {action.source} has no weights yet"
        trained |= {action.agent for action in decision.trained}


def as_text_and_back(events: Iterable[Event]) -> list[Event]:
    """Return events as they come back from a file."""
    out: list[Event] = []
    for event in events:
        if isinstance(event, Report):
            out.append(event._replace(score=float(repr(event.score))))
        elif isinstance(event, Decision):
            out.append(Decision.from_json(json.loads(json.dumps(event.to_json()))))
        else:
            out.append(event)
    return out
