"""What every strategy promises. A new strategy joins by one line in STRATEGIES."""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any

import pytest

import popbandits as pb
from popbandits.population import Decision, Event, Population, Strategy, View
from tests.drive import Score, constant, decisions, make, noisy_sum, run, sometimes_nan, state

STRATEGIES: dict[str, Strategy] = {
    "pb2": pb.PB2(),
    "pb2-paper": pb.PB2.paper(),
    "pb2-all": pb.PB2(explore="all", beta="theorem"),
    "pb2-still": pb.PB2(omega=0.0, beta=1.0, window=10),
    "pb2-forgets": pb.PB2(omega=1.0),
    "pbt": pb.PBT(),
    "uniform": pb.PBT(resample_probability=1.0),
    "random": pb.RandomSearch(),
    "asha": pb.ASHA(),
    "asha-100": pb.ASHA(starts=100, reduction=3, grace=2),
    "bayes": pb.BayesOpt(),
}
MIXED = pb.Space(
    {
        "lr": pb.Float(1e-5, 1e-1, log=True),
        "gamma": pb.Float(0.9, 0.999, logit=True),
        "net": {"depth": pb.Int(1, 5), "act": pb.Choice("relu", "tanh", "gelu")},
        "fixed": 7,
        "narrow": pb.Float(0.5, 0.5),
    }
)


@pytest.fixture(params=STRATEGIES, name="strategy")
def _strategy(request: pytest.FixtureRequest) -> Strategy:
    return STRATEGIES[request.param]


def check_actions(population: Population, found: list[Decision]) -> None:
    """Hparams in the space, sources that have weights, at most one action for an agent."""
    trained: set[int] = set()
    for decision in found:
        agents = [action.agent for action in decision.actions]
        assert len(set(agents)) == len(agents)
        for action in decision.actions:
            assert 0 <= action.agent < population.size
            if action.stop:
                assert action.hparams is None
                assert action.source is None
                continue
            assert action.hparams is not None
            population.space.encode(action.hparams)
            assert action.source is None or action.source in trained
        trained |= {action.agent for action in decision.actions if not action.stop}


@pytest.mark.parametrize("size", [1, 2, 3, 4, 64])
@pytest.mark.parametrize("sync", [True, False])
def test_a_run_ends_within_its_budget_with_valid_actions(strategy: Strategy, size: int, sync: bool) -> None:
    intervals = 6 if size < 64 else 3
    population = make(strategy, size, intervals, sync=sync, space=MIXED)
    events = run(population)
    assert population.finished
    assert len(population.history) <= size * intervals
    assert len(population.history) > 0.5 * size * intervals
    check_actions(population, decisions(events))


@pytest.mark.parametrize("name", ["pb2", "pb2-paper", "pbt", "random", "asha", "bayes"])
def test_a_thousand_agents_get_valid_actions(name: str) -> None:
    strategy = STRATEGIES[name]
    population = make(strategy, 1000, 2)
    found = [Decision(tuple(population.start()))]
    quick = len(population.training) == 1  # one agent after another: a few of them will do
    events = run(population, most=20 if quick else 1000, start=False)
    check_actions(population, found + decisions(events))
    assert quick or len(decisions(events)) == 1


@pytest.mark.parametrize(
    "score", [sometimes_nan, constant, lambda _: math.nan, lambda _: 1e300, lambda j: -(10.0**j.agent)]
)
@pytest.mark.parametrize("sync", [True, False])
def test_no_score_stops_the_population(strategy: Strategy, score: Score, sync: bool) -> None:
    population = make(strategy, 4, 8, sync=sync, space=MIXED)
    events = run(population, score)
    assert population.finished
    check_actions(population, decisions(events))


@pytest.mark.parametrize(
    "space",
    [
        {"only": pb.Float(1, 1)},
        {"a": 3},
        {},
        {"c": pb.Choice("a", "b")},
        {"n": pb.Int(1, 2)},
        {"a": (0.0, 1.0), "b": pb.Float(2, 2), "c": pb.Choice(None)},
        {f"x{j}": (0.0, 1.0) for j in range(12)},
    ],
    ids=str,
)
def test_every_space_works(strategy: Strategy, space: dict[str, Any]) -> None:
    population = make(strategy, 4, 5, space=space)
    events = run(population)
    assert population.finished
    check_actions(population, decisions(events))


def test_the_seed_decides_and_the_order_of_reports_does_not(strategy: Strategy) -> None:
    first, *others = [decisions(run(make(strategy, space=MIXED, seed=3), order=order)) for order in range(3)]
    for other in others:
        assert other == first
    assert decisions(run(make(strategy, space=MIXED, seed=4))) != first


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("score", [noisy_sum, sometimes_nan])
def test_the_state_rebuilt_from_the_events_is_the_state_that_was_live(
    strategy: Strategy, sync: bool, score: Score
) -> None:
    for most in (0, 1, 5, 11, 17):
        options: dict[str, Any] = {"size": 4, "intervals": 6, "seed": 1, "sync": sync}
        live = Population(MIXED, strategy, **options)
        events = run(live, score, most=most)
        rebuilt = Population.restore(MIXED, strategy, json_round_trip(events), **options)
        assert rebuilt.overdue() == []
        assert state(rebuilt) == json.loads(json.dumps(state(live)), object_hook=_int_keys)
        assert decisions(run(rebuilt, score, order=9, start=False)) == decisions(run(live, score, order=9, start=False))


def json_round_trip(events: list[Any]) -> list[Any]:
    """Events as a log would keep them: text and back."""
    out: list[Any] = []
    for event in events:
        if isinstance(event, pb.Report):
            out.append(pb.Report(event.agent, event.interval, float(repr(event.score))))
        else:
            actions = [json.loads(json.dumps(action._asdict())) for action in event.actions]
            out.append(Decision(tuple(pb.Action(**action) for action in actions), json.loads(json.dumps(event.notes))))
    return out


def _int_keys(tree: dict[str, Any]) -> dict[Any, Any]:
    return {int(k) if k.isdigit() else k: tuple(v) if k.isdigit() else v for k, v in tree.items()}


def test_a_log_that_ends_before_the_decision_gets_the_same_decision(strategy: Strategy) -> None:
    options: dict[str, Any] = {"size": 3, "intervals": 4, "seed": 5}
    events = run(Population(MIXED, strategy, **options))
    at = [i for i, event in enumerate(events) if isinstance(event, Decision)][2]
    rebuilt = Population.restore(MIXED, strategy, events[:at], **options)
    expected = events[at]
    assert isinstance(expected, Decision)
    assert rebuilt.overdue() == list(expected.actions)


def test_a_hundred_thousand_rows_are_no_obstacle(strategy: Strategy) -> None:
    """A long life, rebuilt from a made-up log of agents that kept what they had; then one more decision."""
    size, intervals, together = 1000, 200, not isinstance(strategy, pb.BayesOpt)
    hparams = [{"x": (i + 0.5) / size, "y": ((7 * i) % size + 0.5) / size} for i in range(size)]

    def keep(agents: Iterable[int], fresh: bool) -> Decision:
        return Decision(tuple(pb.Action(agent, hparams[agent], None if fresh else agent) for agent in agents))

    def events() -> Iterator[Event]:
        # All agents interval by interval; or, where one trains at a time, agent by agent.
        groups = [list(range(size))] if together else [[agent] for agent in range(size)]
        for group in groups:
            for interval in range(1, 101):
                yield keep(group, fresh=interval == 1)
                for agent in group:
                    yield pb.Report(agent, interval, interval * hparams[agent]["x"])

    space = {"x": (0.0, 1.0), "y": (0.0, 1.0)}
    population = Population.restore(space, strategy, events(), size=size, intervals=intervals)
    history = population.history
    assert len(history) == 100_000
    assert sum(getattr(history, field.name).nbytes for field in fields(history) if field.name != "space") < 20e6
    due = (3, 5) if together else (size - 1,)
    view = View(population.space, size, intervals, 0, history, tuple(population._last), {}, {})
    decision = strategy.decide(view, due)
    assert decision.actions
    assert all(action.stop or population.space.encode(action.hparams or {}) is not None for action in decision.actions)


def test_what_a_strategy_notes_is_plain_json(strategy: Strategy) -> None:
    population = make(strategy, space=MIXED)
    for decision in decisions(run(population)):
        assert json.loads(json.dumps(decision.notes, allow_nan=False)) is not None


def test_an_option_that_does_not_exist_is_refused_by_name(strategy: Strategy) -> None:
    make_anew: Any = type(strategy)
    with pytest.raises(pb.OptionError, match=f"{type(strategy).__name__} has no option 'quantil'"):
        make_anew(quantil=0.1)
