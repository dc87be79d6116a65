import math
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import popbandits as pb
from popbandits.strategies import View, keep
from popbandits.testing import drive
from tests.drive import constant, make, state, trained


def test_in_step_actions_come_when_the_last_agent_has_reported() -> None:
    population = make(pb.PBT(), 3, 2)
    assert [action.agent for action in population.start()] == [0, 1, 2]
    assert population.tell(agent=2, score=0.7) is None
    assert population.tell(agent=0, score=0.1) is None
    assert [action.agent for action in trained(population.tell(agent=1, score=0.5))] == [0, 1, 2]


def test_out_of_step_every_report_brings_that_agents_action() -> None:
    population = make(pb.PBT(), 3, 2, sync=False)
    population.start()
    for agent in (2, 0, 1):
        assert [action.agent for action in trained(population.tell(agent, agent / 10))] == [agent]


def test_the_first_actions_are_fresh_and_the_same_for_strategies_that_draw_them() -> None:
    first = make(pb.PB2.paper(), seed=7).start()
    assert all(isinstance(action, pb.Train) and action.source is None for action in first)
    assert make(pb.PBT(), seed=7).start() == first == make(pb.RandomSearch(), seed=7).start()
    assert make(pb.PB2.paper(), seed=8).start() != first


def test_the_improvement_after_a_copy_counts_from_the_donors_score() -> None:
    population = make(pb.PBT(), 2, 3)
    population.start()
    population.tell(0, 1.0)
    actions = trained(population.tell(1, 5.0))
    assert (actions[0].source, actions[1].source) == (1, 1)
    population.tell(0, 5.5)
    population.tell(1, 7.0)
    history = population.history
    assert history.donor.tolist() == [-1, -1, 1, 1]
    assert history.before.tolist() == [-1, -1, 1, 1]
    assert history.improvement[2:].tolist() == [0.5, 2.0]
    assert np.isnan(history.improvement[:2]).all()


def test_out_of_step_a_slow_agent_that_copies_is_as_old_as_its_donor() -> None:
    population = pb.Population({"x": (0.0, 1.0)}, pb.PB2.paper(), size=2, intervals=20, sync=False)
    population.start()
    for interval in range(1, 16):
        population.tell(0, float(interval))
    population.tell(1, 0.0)
    job = population.training[1]
    assert (job.source, job.interval, job.age) == (0, 2, 16)
    population.tell(1, 1.0)
    assert population.history.age.tolist() == [*range(1, 16), 1, 16]


def test_the_best_is_the_highest_finite_score() -> None:
    population = make(pb.RandomSearch(), 3, 1)
    assert population.best is None
    first = population.start()
    for agent, score in enumerate([math.inf, 2.0, math.nan]):
        population.tell(agent, score)
    assert population.best is not None
    assert (population.best.agent, population.best.interval, population.best.score) == (1, 1, 2.0)
    assert population.best.hparams == first.trained[1].hparams


def test_history_is_read_only_and_does_not_change_under_its_reader() -> None:
    population = make(pb.RandomSearch(), 2, 100)
    drive(population, most=10)
    seen = population.history
    drive(population)
    assert len(seen) == 10
    assert len(population.history) == 200
    with pytest.raises(ValueError, match="read-only"):
        seen.score[0] = 1.0


@pytest.mark.parametrize("score", [1, np.float32(1), np.int64(1), np.array(1.0), True + 0.0])
def test_numbers_of_every_kind_are_scores(score: Any) -> None:
    population = make(pb.RandomSearch(), 1, 1)
    population.start()
    population.tell(0, score)
    assert population.history.score.tolist() == [1.0]


@pytest.mark.parametrize(
    ("report", "error", "words"),
    [
        ({"agent": 9, "score": 1.0}, pb.UnknownAgentError, "agents are 0 to 1, but got 9"),
        ({"agent": -1, "score": 1.0}, pb.UnknownAgentError, "but got -1"),
        ({"agent": "0", "score": 1.0}, pb.UnknownAgentError, "but got '0'"),
        ({"agent": True, "score": 1.0}, pb.UnknownAgentError, "but got True"),
        ({"agent": 0, "score": "0.5"}, pb.ScoreError, "score of agent 0 must be a number, but got '0.5'"),
        ({"agent": 0, "score": None}, pb.ScoreError, "None"),
        ({"agent": 0, "score": [1.0]}, pb.ScoreError, r"\[1.0\]"),
        ({"agent": 0, "score": np.array([1.0])}, pb.ScoreError, "array"),
        ({"agent": 0, "score": True}, pb.ScoreError, "True"),
        ({"agent": 0, "score": 1j}, pb.ScoreError, "1j"),
        ({"agent": 0, "score": 10**400}, pb.ScoreError, "must be a number"),
        ({"agent": 0, "score": np.True_}, pb.ScoreError, "True"),
        ({"agent": 0, "score": np.array("1.5")}, pb.ScoreError, "1.5"),
        ({"agent": 1, "score": 1.0}, pb.OutOfTurnError, "agent 1 waits for the others and owes no report"),
        ({"agent": 0, "score": 1.0, "interval": 3}, pb.OutOfTurnError, "trains interval 2, but got a report of 3"),
    ],
)
def test_a_report_that_cannot_be_is_refused_and_changes_nothing(
    report: dict[str, Any], error: type[Exception], words: str
) -> None:
    population = make(pb.PBT(), 2, 3)
    population.start()
    population.tell(0, 1.0)
    population.tell(1, 2.0)
    population.tell(1, 3.0)
    before = state(population)
    with pytest.raises(error, match=words) as caught:
        population.tell(**report)
    assert isinstance(caught.value, pb.ReportError)
    assert state(population) == before
    assert len(trained(population.tell(0, 1.0))) == 2


def test_reports_before_the_start_and_after_the_end_are_out_of_turn() -> None:
    population = make(pb.RandomSearch(), 1, 1)
    with pytest.raises(pb.OutOfTurnError, match=r"call start\(\) first"):
        population.tell(0, 1.0)
    population.start()
    with pytest.raises(pb.OutOfTurnError, match="starts once"):
        population.start()
    population.tell(0, 1.0)
    assert population.finished
    with pytest.raises(pb.OutOfTurnError, match="is not training"):
        population.tell(0, 1.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": 0}, "`size >= 1` must hold, but got size=0"),
        ({"size": 2.5}, "size must be a whole number, but got 2.5"),
        ({"intervals": 0}, "`intervals >= 1`"),
        ({"seed": -1}, "`seed >= 0`"),
        ({"strategy": pb.PB2}, "an instance with `start` and `decide`, such as PB2"),
        ({"strategy": "pb2"}, "an instance with `start` and `decide`, such as PB2"),
    ],
)
def test_settings_that_cannot_be_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(pb.OptionError, match=words):
        make(**{"strategy": pb.PBT()} | options)


@pytest.mark.parametrize(
    ("action", "error", "words"),
    [
        (pb.Train(9, {"x": 0.5, "y": 0.5}), pb.UnknownAgentError, "the agent 9"),
        (pb.Train(0, {"x": 0.5, "y": 0.5}, 7), pb.UnknownAgentError, "the source 7"),
        (pb.Train(0, {"x": 0.5, "y": 0.5}, 1), pb.OutOfTurnError, "agent 1 has not trained yet"),
        (pb.Train(0, {"x": 3.0, "y": 0.5}), pb.HparamsError, "'x' must lie in"),
        (pb.Train(0, {"x": 0.5}), pb.HparamsError, "'y' is missing"),
    ],
)
def test_a_decision_that_does_not_fit_is_refused_and_changes_nothing(
    action: pb.Train, error: type[Exception], words: str
) -> None:
    population = make(pb.PBT(), 2, 3)
    before = state(population)
    with pytest.raises(error, match=words):
        population._applied(pb.Decision((pb.Train(1, {"x": 0.1, "y": 0.1}), action)))
    assert state(population) == before
    assert len(population.start().actions) == 2


def test_of_equal_scores_the_best_does_not_depend_on_who_reported_first() -> None:
    best = []
    for order in range(4):
        population = make(pb.RandomSearch(), 4, 2)
        drive(population, constant, order=order)
        best.append(population.best)
    assert best == best[:1] * 4


def test_choices_that_python_calls_equal_are_told_apart() -> None:
    for seed in range(10):
        population = make(pb.PBT(resample_probability=1.0), 2, 9, seed=seed, space={"c": pb.Choice(1, True, 1.0)})
        events = drive(population)
        given: dict[int, Any] = {}
        for event in events:
            if isinstance(event, pb.Decision):
                given |= {action.agent: action.hparams for action in event.trained}
            elif isinstance(event, pb.Report):
                row = [r for r in range(len(population.history)) if population.history.agent[r] == event.agent][
                    event.interval - 1
                ]
                assert repr(population.history.hparams(row)) == repr(given[event.agent])


def test_a_hyperparameter_named_like_a_column_does_not_replace_it() -> None:
    population = make(pb.RandomSearch(), 1, 1, space={"score": (0.0, 1.0)})
    population.start()
    population.tell(0, 42.0)
    assert population.history.columns()["score"].tolist() == [42.0]
    assert "hparams.score" in population.history.columns()


class PopulationMachine(RuleBasedStateMachine):
    """Any mix of right and wrong reports: the population counts each right one once and never loses its place."""

    @initialize(size=st.integers(1, 5), sync=st.booleans(), intervals=st.integers(1, 4))
    def begin(self, size: int, sync: bool, intervals: int) -> None:
        self.population = make(pb.PBT(), size, intervals, sync=sync)
        self.owed = {action.agent: 1 for action in self.population.start()}
        self.told = 0

    @precondition(lambda self: self.owed)
    @rule(data=st.data(), score=st.floats())
    def report(self, data: st.DataObject, score: float) -> None:
        agent = data.draw(st.sampled_from(sorted(self.owed)))
        decision = self.population.tell(agent, score, interval=self.owed[agent])
        done = self.owed.pop(agent)
        self.told += 1
        for action in trained(decision):
            self.owed[action.agent] = done + 1

    @rule(agent=st.integers(-2, 7), interval=st.integers(0, 6))
    def stale_or_wrong(self, agent: int, interval: int) -> None:
        if self.owed.get(agent) == interval:
            return
        with pytest.raises(pb.ReportError):
            self.population.tell(agent, 1.0, interval=interval)

    @invariant()
    def each_report_counts_once(self) -> None:
        assert len(self.population.history) == self.told
        assert set(self.population.training) == set(self.owed)
        assert self.population.finished == (not self.owed)


TestPopulationMachine = PopulationMachine.TestCase


def test_a_strategy_that_never_stops_its_agents_is_refused_at_the_end_of_the_budget() -> None:
    class Endless(pb.RandomSearch):
        def decide(self, view: View, due: tuple[int, ...]) -> pb.Decision:
            return pb.Decision(tuple(keep(view, agent) for agent in due))

    population = make(Endless(), 2, 3)
    with pytest.raises(pb.OutOfTurnError, match="6 in all, but agent 1 was to train one more"):
        drive(population)
    assert len(population.history) == 6
