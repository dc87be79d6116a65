"""Who copies whom under PB2, and what agents are ranked by."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import popbandits as pb
from popbandits.population import Job, Population
from popbandits.strategies._standing import standings
from popbandits.strategies._succession import first_to_go
from popbandits.testing import decisions, drive
from tests.drive import make, trained

Score = Callable[[Job], float]


def copies(score: Score, size: int = 4, intervals: int = 10, strategy: Any = None, **options: Any) -> list[set[int]]:
    """Which agents copied another, for each decision after the first."""
    population = make(strategy or pb.PB2(), size, intervals, **options)
    events = drive(population, score)
    return [{a.agent for a in d.trained if a.source not in (None, a.agent)} for d in decisions(events)[1:]]


def climbing(job: Job) -> float:
    """Agents gain the more the higher their number is."""
    return float(job.interval * (1 + job.agent))


def test_the_start_covers_every_range_evenly() -> None:
    population = Population(
        {"x": (0.0, 1.0), "n": pb.Int(1, 4), "c": pb.Choice("a", "b")}, pb.PB2(), size=4, intervals=3
    )
    first = [action.hparams for action in population.start().trained]
    assert sorted(int(4 * hparams["x"]) for hparams in first) == [0, 1, 2, 3]
    assert sorted(hparams["n"] for hparams in first) == [1, 2, 3, 4]
    assert sorted(hparams["c"] for hparams in first) == ["a", "a", "b", "b"]


def test_nobody_is_copied_before_somebody_has_learned_something() -> None:
    """Three agents dip and one stands still and leads: it has learned nothing, so it is no donor."""

    def dipping(job: Job) -> float:
        return 0.0 if job.agent == 0 else float((job.interval - 3.5) ** 2 - 6.0)

    made = copies(dipping)
    assert not any(made[:4]), "until interval 5 the leader stands still"
    assert any(made[5:8]), "then somebody is above every first report"


def test_while_nobody_learns_the_one_that_stands_still_draws_anew_and_keeps_its_weights() -> None:
    population = make(pb.PB2(), 4, 12)
    events = drive(population, lambda job: 0.0 if job.agent == 2 else -float(job.interval % 2) - job.agent)
    changed = [
        (count, action.agent)
        for count, (before, after) in enumerate(zip(decisions(events), decisions(events)[1:], strict=False), 1)
        for action, was in zip(after.trained, before.trained, strict=False)
        if action.hparams != was.hparams
    ]
    assert changed[0] == (4, 2), "after twice the patience"
    assert all(action.source == action.agent for d in decisions(events)[1:6] for action in d.trained)
    assert any(action.source != action.agent for d in decisions(events)[6:] for action in d.trained), (
        "in the second half"
    )


def test_leads_within_the_error_of_first_reports_make_no_donor() -> None:
    population = make(pb.PB2(), 4, 9)
    decision: pb.Decision | None = population.start()
    made = []
    while population.training:
        for action in trained(decision):
            decision = population.tell(action.agent, climbing(population.training[action.agent]), score_error=100.0)
        made.append({a.agent for a in trained(decision) if a.source != a.agent})
    assert made[:4] == [set()] * 4, "an error of 100 hides all that they gain in the first half"


def test_an_agent_has_its_patience_before_it_is_replaced_again() -> None:
    for patience in (2, 4):
        made = copies(climbing, intervals=20, strategy=pb.PB2(patience=patience))
        last: dict[int, int] = {}
        for interval, agents in enumerate(made[:14], 1):
            for agent in agents:
                assert interval - last.get(agent, -9) >= patience
                last[agent] = interval
        assert sum(map(len, made[:14])) >= 14 // patience


def test_before_the_last_interval_all_others_copy_the_best() -> None:
    made = copies(climbing)
    assert made[8] == {0, 1, 2}
    assert made[9] == set(), "after the last interval nobody trains any more"


def test_an_agent_is_worth_what_its_heirs_reach_and_is_not_replaced_then() -> None:
    """Agent 1 looks bad; agent 2 trains a copy of its weights with the hparams of agent 0, and passes it."""
    path: list[Any] = [pb.Decision(tuple(pb.Train(agent, {"x": agent / 4}) for agent in range(3)))]
    path += [pb.Report(agent, 1, score) for agent, score in enumerate([5.0, 1.0, 0.0])]
    path.append(pb.Decision((pb.Train(0, {"x": 0.0}, 0), pb.Train(1, {"x": 0.25}, 1), pb.Train(2, {"x": 0.0}, 1))))
    path += [pb.Report(agent, 2, score) for agent, score in enumerate([5.0, 1.0, 9.0])]
    rest = make(pb.PB2(), 3, 20, space={"x": (0.0, 1.0)})
    stand = standings(Population.restore(rest.space, rest.strategy, path, size=3, intervals=20).view(), 2)
    assert stand.worth.tolist() == [5.0, 9.0, 9.0]
    assert stand.tested.tolist() == [False, True, False]
    assert stand.held.tolist() == [2, 2, 1]
    assert first_to_go(stand, 2, [0, 1]) == [0]


def test_weights_are_tested_with_the_leaders_hparams() -> None:
    """Of the moves before the end, some take the weights of one agent and the hparams of another, as they are."""
    population = make(pb.PB2(), 4, 20)
    events = decisions(drive(population, climbing))
    tests = 0
    for before, after in pairwise(events):
        was = {action.agent: action.hparams for action in before.trained}
        for action in after.trained:
            if action.source not in (None, action.agent) and action.hparams in was.values():
                assert action.hparams != was[action.source or 0], "those of another agent than the donor"
                tests += 1
    assert tests >= 3


def test_an_heir_has_the_leaders_hparams_to_the_last_digit() -> None:
    """In the unit cube and back, a third of all values on a log scale come out an ulp away."""
    space = {"lr": pb.Float(1e-5, 1e-1, log=True), "lam": pb.Float(0.9, 0.99)}
    heirs = 0
    for seed in range(8):
        population = make(pb.PB2(), 4, 20, space=space, seed=seed)
        for before, after in pairwise(decisions(drive(population, climbing))):
            was = [action.hparams for action in before.trained]
            for action in after.trained:
                if action.source not in (None, action.agent):
                    near = [old for old in was if math.isclose(old["lr"], action.hparams["lr"], rel_tol=1e-9)]
                    assert all(old == action.hparams for old in near)
                    heirs += bool(near)
    assert heirs > 20


def test_out_of_step_agents_are_compared_as_they_were_at_the_same_interval() -> None:
    population = make(pb.PB2(), 2, 40, sync=False)
    population.start()
    for interval in range(1, 20):
        population.tell(0, float(interval))
    population.tell(1, 5.0)
    assert standings(population.view(), 1).score.tolist() == [1.0, 5.0]
    assert standings(population.view(), 2).agent.tolist() == [0], "the others have not come as far"


def test_out_of_step_decisions_go_on_to_the_end() -> None:
    rng = np.random.default_rng(0)
    population = make(pb.PB2(), 8, 60, sync=False)
    population.start()
    while population.training:
        agent = int(rng.choice(list(population.training)))
        job = population.training[agent]
        begun = 0.0 if math.isnan(job.score_before) else job.score_before
        population.tell(agent, begun + float(job.point.sum()) + 0.1 * float(rng.standard_normal()))
    history = population.history
    copied = history.interval[(history.donor >= 0) & (history.donor != history.agent)]
    for begin in (20, 35, 50):
        assert ((copied > begin) & (copied <= begin + 10)).sum() >= 5


@pytest.mark.parametrize("lost", [math.nan, -math.inf])
def test_the_lost_are_replaced_at_once_however_many(lost: float) -> None:
    made = copies(lambda job: lost if job.interval == 2 and job.agent < 3 else climbing(job))
    assert made[1] == {0, 1, 2}


def test_when_all_are_lost_all_begin_anew() -> None:
    population = make(pb.PB2(), 3, 4)
    events = drive(population, lambda _: math.nan)
    assert all(action.source is None for d in decisions(events) for action in d.trained)


def test_quantile_zero_replaces_nobody() -> None:
    assert copies(climbing, strategy=pb.PB2(quantile=0.0)) == [set()] * 10


def test_one_agent_alone_tries_neighbours_of_its_own_hparams() -> None:
    population = make(pb.PB2(), 1, 10)
    events = drive(population, climbing)
    points = population.history.points
    assert len({tuple(point) for point in points.tolist()}) >= 4
    assert all(action.source == 0 for d in decisions(events)[1:] for action in d.trained)


def test_out_of_step_copies_go_on_to_the_end_whatever_the_pace_of_agents() -> None:
    pace = np.array([1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 2.0, 3.0])
    population = make(pb.PB2(window=0), 8, 100, sync=False)
    population.start()
    clock, rng = np.zeros(8), np.random.default_rng(0)
    while population.training:
        agent = min(population.training, key=lambda a: (clock[a], a))
        clock[agent] += pace[agent] * rng.uniform(0.9, 1.1)
        job = population.training[agent]
        begun = 0.0 if math.isnan(job.score_before) else job.score_before
        population.tell(agent, begun + 1 - abs(job.point[0] - 0.5) + 0.3 * rng.standard_normal())
    history = population.history
    copies = np.flatnonzero((history.donor >= 0) & (history.donor != history.agent))
    by_tenth = np.bincount(copies * 10 // len(history), minlength=10)
    assert by_tenth.min() >= 5, by_tenth
    points = [{tuple(point) for point in part} for part in np.array_split(history.points, 10)]
    assert min(map(len, points[:-1])) > 8, "new hparams are tried all the time"
