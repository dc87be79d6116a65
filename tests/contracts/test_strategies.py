"""What every strategy promises. A new strategy joins by one line in STRATEGIES."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import popbandits as pb
from popbandits.population import Decision, Event, Population, Strategy, View
from popbandits.testing import MIXED, STRATEGY_CHECKS, check_actions, decisions, drive
from tests.drive import make

STRATEGIES: dict[str, Strategy] = {
    "pb2": pb.PB2(),
    "pb2-paper": pb.PB2.paper(),
    "pb2-patient": pb.PB2(patience=4, window=10),
    "pb2-dice": pb.PB2(window=0),
    "paper-all": pb.PB2.paper(explore="all", beta="theorem"),
    "paper-still": pb.PB2.paper(omega=0.0, beta=1.0, window=10),
    "paper-forgets": pb.PB2.paper(omega=1.0),
    "pbt": pb.PBT(),
    "uniform": pb.PBT(resample_probability=1.0),
    "random": pb.RandomSearch(),
    "asha": pb.ASHA(),
    "asha-100": pb.ASHA(starts=100, reduction=3, grace=2),
    "bayes": pb.BayesOpt(),
}


@pytest.fixture(params=STRATEGIES, name="strategy")
def _strategy(request: pytest.FixtureRequest) -> Strategy:
    return STRATEGIES[request.param]


@pytest.mark.parametrize("check", STRATEGY_CHECKS)
def test_every_strategy_keeps_the_contract(check: Callable[[Strategy], None], strategy: Strategy) -> None:
    check(strategy)


def test_ours_spend_most_of_their_budget(strategy: Strategy) -> None:
    for size in (1, 2, 3, 4):
        population = make(strategy, size, 6, space=MIXED)
        drive(population)
        assert len(population.history) > 0.5 * size * 6


@pytest.mark.parametrize("name", ["pb2", "pb2-paper", "pbt", "random", "asha", "bayes"])
def test_a_thousand_agents_get_valid_actions(name: str) -> None:
    strategy = STRATEGIES[name]
    population = make(strategy, 1000, 2)
    population.start()
    quick = len(population.training) == 1  # one agent after another: a few of them will do
    events = drive(population, most=20 if quick else 1000)
    check_actions(population, decisions(population.events))
    assert quick or len(decisions(events)) == 1


def test_a_hundred_thousand_rows_are_no_obstacle(strategy: Strategy) -> None:
    """A long life, rebuilt from a made-up log of agents that kept what they had; then one more decision."""
    size, intervals, together = 1000, 200, not isinstance(strategy, pb.BayesOpt)
    hparams = [{"x": (i + 0.5) / size, "y": ((7 * i) % size + 0.5) / size} for i in range(size)]

    def keep(agents: Iterable[int], fresh: bool) -> Decision:
        return Decision(tuple(pb.Train(agent, hparams[agent], None if fresh else agent) for agent in agents))

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
    columns = [getattr(history, field.name) for field in fields(history)]
    assert sum(column.nbytes for column in columns if isinstance(column, np.ndarray)) < 20e6
    due = (3, 5) if together else (size - 1,)
    view = View(population.space, size, intervals, 0, history, tuple(population._last), {}, {})
    decision = strategy.decide(view, due)
    assert decision.actions
    assert all(population.space.encode(action.hparams) is not None for action in decision.trained)


def test_an_option_that_does_not_exist_is_refused_by_name(strategy: Strategy) -> None:
    make_anew: Any = type(strategy)
    with pytest.raises(pb.OptionError, match=f"{type(strategy).__name__} has no option 'quantil'"):
        make_anew(quantil=0.1)
