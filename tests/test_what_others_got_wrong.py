"""Defects found by running other implementations of PB2, each as a test that ours does not have it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import popbandits as pb
from popbandits.bandit import Request, UpperConfidenceBound, choose_batch, paper_beta
from popbandits.gp import Kernel, Posterior, Rows, Theta, fit, standardise
from popbandits.population import Decision, Event, Job, Population, View
from popbandits.problems import MovingPeak, simulate
from popbandits.strategies._gains import gains_of
from popbandits.strategies._levels import levels_of
from popbandits.testing import decisions, drive
from tests.drive import make, state, trained

SCORES = [0.3, 0.1, 0.9, 0.5]


@dataclass(frozen=True)
class Asked:
    """What PB2 has asked of the bandit at one decision."""

    posterior: Posterior
    requests: Sequence[Request]


@pytest.fixture(name="asked")
def _asked(monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    """Listen to what PB2 asks; the answer is the bandit's own."""
    heard: list[Asked] = []

    def listening(posterior: Posterior, requests: Sequence[Request], snap: Any) -> Any:
        heard.append(Asked(posterior, requests))
        return choose_batch(posterior, requests, snap)

    monkeypatch.setattr("popbandits.strategies._paper.choose_batch", listening)
    return heard


def view_of(population: Population) -> View:
    return population.view()


def test_there_is_a_noise_term_so_lengthscales_do_not_collapse() -> None:
    """Without one, at noise of half the signal the lengthscale shrinks until nothing is learned."""
    rng = np.random.default_rng(0)
    u = rng.random((60, 1))
    y, _ = standardise(np.sin(3 * u[:, 0]) + 0.3 * rng.standard_normal(60))
    rows = Rows.plain(u, np.ones(60))
    theta = fit(Kernel((False,)), rows, y)
    assert theta.noise > 0.05
    assert theta.lengthscales[0] > 0.15


@pytest.mark.parametrize("start", [0.05, 5.0])
def test_the_lengthscale_moves_away_from_its_start(start: float) -> None:
    """A gradient with the wrong sign keeps fits where they began."""
    rng = np.random.default_rng(1)
    u = rng.random((60, 1))
    y, _ = standardise(np.sin(6 * u[:, 0]) + 0.05 * rng.standard_normal(60))
    rows = Rows.plain(u, np.ones(60))
    theta = fit(Kernel((False,)), rows, y, start=Theta(1.0, (start,), 0.05, 0.3))
    assert 0.15 < theta.lengthscales[0] < 1.0


def test_time_is_not_rescaled_and_all_of_omega_is_possible() -> None:
    """Time squeezed to [0, 1] with ω ≤ 0.5 keeps a correlation of 0.707 over the longest run: nothing is forgotten."""
    kernel = Kernel((False,), omega=0.9)
    at = np.array([[0.5]])
    k = kernel.signal(Theta(1.0, (0.3,), 0.9, 0.1), at, np.array([1.0]), at, 21.0)
    assert k[0, 0] == pytest.approx(0.1**10)
    population = make(pb.PB2(), 4, 50)
    drive(population, most=120)
    assert gains_of(view_of(population), 1000).rows.t.max() == 30.0
    assert levels_of(view_of(population), 1000, ending=False).rows.t.max() == 30.0
    rng = np.random.default_rng(2)
    rows = Rows.plain(rng.random((80, 1)), np.repeat(np.arange(20.0), 4))
    phases = rng.uniform(0, 2 * np.pi, 20)  # another function in every interval
    y = np.sin(6 * rows.u[:, 0] + phases[rows.t.astype(int)])
    assert fit(Kernel((False,)), rows, y).omega > 0.7


def test_beta_multiplies_the_deviation_and_counts_intervals(asked: list[Asked]) -> None:
    """Elsewhere √β multiplies the variance, and t in β is the number of rows."""
    assert UpperConfidenceBound(4.0)(np.zeros(1), np.array([0.1]))[0] == pytest.approx(0.2)
    drive(make(pb.PB2.paper(), 4, 9))
    assert [request.acquisition for one in asked for request in one.requests] == [
        UpperConfidenceBound(paper_beta(t)) for t in range(2, 10)
    ]


def test_agents_that_keep_training_are_conditioned_on_without_labels(asked: list[Asked]) -> None:
    """Elsewhere they are left out, or given made-up zero labels that shift the mean."""
    population = make(pb.PB2.paper(), 4, 9)
    drive(population, most=12)
    assert len(asked) == 3
    for decision, one in enumerate(asked, 1):
        n = len(one.posterior.alpha)
        assert n == 4 * decision  # the finished rows, which alone make the mean
        keepers = one.posterior.rows[np.arange(n, len(one.posterior.rows))]
        history = population.history
        kept = [
            r
            for r in range(len(history))
            if history.interval[r] == decision + 1 and history.donor[r] == history.agent[r]
        ]
        if kept:
            assert sorted(keepers.u.tolist()) == sorted(history.points[kept].tolist())
        assert set(keepers.t) == {decision + 1.0}
        assert len(keepers) == 3


def test_the_question_is_about_the_interval_to_come(asked: list[Asked]) -> None:
    """Elsewhere the context of the choice is the donor's state one interval ago."""
    drive(make(pb.PB2.paper(), 4, 9))
    assert [one.requests[0].box.t for one in asked] == [float(t) for t in range(2, 10)]
    known = [one.posterior.rows.t[: len(one.posterior.alpha)] for one in asked]
    assert [t.max(initial=0.0) for t in known] == [float(t) for t in range(1, 9)]


def test_the_first_decision_already_explores() -> None:
    population = make(pb.PB2.paper(), 4, 9)
    first = population.start()
    actions = [action for agent, score in enumerate(SCORES) for action in trained(population.tell(agent, score))]
    copied = actions[1]
    assert copied.source == 2
    assert copied.hparams not in [action.hparams for action in first.trained]
    assert population.notes["rows"] == 4, "fresh weights tell who did better than its peers"


def test_what_was_before_a_jump_is_forgotten_within_a_run() -> None:
    """Elsewhere the block is chosen by likelihoods of different data, which cannot be compared."""
    population = make(pb.PB2.paper(), 8, 40, space={"x": (0.0, 1.0)})

    def jumps(job: Job) -> float:
        best = 0.1 if job.interval <= 15 else 0.9
        before = 0.0 if np.isnan(job.score_before) else job.score_before
        return before + 1.0 - 4.0 * (float(job.point[0]) - best) ** 2

    blocks = [d.notes["block"] for d in decisions(drive(population, jumps)) if "block" in d.notes]
    assert blocks[13] == 14 * 8  # all of it while nothing has changed
    assert min(block for t, block in enumerate(blocks, 1) if 17 <= t <= 25) <= 10 * 8


def test_a_singular_matrix_raises_nothing_and_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere the fallback adds an identity to X and raises."""
    kernel = Kernel((False,))
    rows = Rows.plain(np.full((6, 1), 0.5), np.ones(6))
    assert Posterior.given(kernel, Theta(1.0, (1.0,), 0.1, 1e-320), rows, np.zeros(6)) is not None
    assert Posterior.given(kernel, Theta(math.nan, (1.0,), 0.1, 0.1), rows, np.zeros(6)) is None
    genuine = pb.PB2.paper()
    # No run of ours has needed the last fallback; a posterior that cannot be made is the way to get there.
    monkeypatch.setattr("popbandits.strategies._paper._posterior", lambda *_: None)
    population = make(genuine, 4, 5)
    events = drive(population)
    assert population.finished
    assert population.notes["fallbacks"] == 4
    assert len({str(action.hparams) for d in decisions(events) for action in d.trained}) > 5


def test_upper_bounds_are_reached_and_values_stay_inside_in_double_precision() -> None:
    """Elsewhere int() truncates, and results rounded to single precision lie outside the bounds."""
    assert pb.Int(1, 8).from_unit(1.0) == 8
    assert pb.Int(1, 8).from_unit(0.99) == 8
    param = pb.Float(0.1, 0.3)
    assert param.from_unit(np.float32(1.0).item()) == 0.3
    population = make(pb.PB2(), 4, 15, space={"n": pb.Int(1, 3), "f": param})
    drive(population, lambda job: float(job.interval * job.point.sum()))
    assert {population.history.hparams(row)["n"] for row in range(60)} == {1, 2, 3}


@pytest.mark.parametrize("lost", [math.nan, math.inf, -math.inf])
def test_a_diverged_agent_is_replaced_and_poisons_nothing(lost: float) -> None:
    """Elsewhere nan is left out of the ranking, so it stays for ever, and one inf poisons every later fit."""
    population = make(pb.PB2(), 4, 12)
    events = drive(
        population, lambda job: lost if job.interval == 3 and job.agent == 2 else job.interval + float(job.point.sum())
    )
    third = decisions(events)[3]
    assert third.trained[2].source in {0, 1, 3}
    evidence = levels_of(view_of(population), 1000, ending=False)
    assert len(evidence.rows) == 4 * 12 - 1
    assert np.isfinite(evidence.y).all()
    assert population.notes["fallbacks"] == 0


def test_the_state_of_the_strategy_survives_a_restart() -> None:
    """Elsewhere the GP starts empty after a restore."""
    live = make(pb.PB2(), 4, 9)
    events = drive(live, most=20)
    rebuilt = Population.restore(live.space, live.strategy, events, size=4, intervals=9)
    assert state(rebuilt) == state(live)
    here, there = (levels_of(view_of(one), 1000, ending=False) for one in (live, rebuilt))
    assert here.rows.t.tolist() == there.rows.t.tolist()
    assert len(there.rows) == 20


def test_a_report_that_skips_an_interval_is_refused_instead_of_waited_for() -> None:
    """Elsewhere synchronous mode hangs."""
    population = make(pb.PB2(), 2, 9)
    population.start()
    with pytest.raises(pb.OutOfTurnError, match="trains interval 1, but got a report of 2"):
        population.tell(0, 1.0, interval=2)
    population.tell(0, 1.0, interval=1)
    assert len(trained(population.tell(1, 2.0, interval=1))) == 2


def test_out_of_step_the_question_is_about_the_age_of_the_weights(asked: list[Asked]) -> None:
    population = make(pb.PB2.paper(), 2, 20, sync=False)
    population.start()
    for interval in range(1, 16):
        population.tell(0, float(interval))
    population.tell(1, 0.0)
    assert asked[-1].requests[0].box.t == 16.0


def test_out_of_step_the_agents_in_training_are_not_forgotten() -> None:
    """What another agent is training changes what this one is given, though it has reported nothing of it."""
    given = []
    for x in (0.2, 0.8):
        population = make(pb.PB2.paper(), 3, 9, sync=False, space={"x": (0.0, 1.0)})
        events: list[Event] = [Decision(tuple(pb.Train(agent, {"x": 0.5}) for agent in range(3)))]
        events += [pb.Report(0, 1, 1.0), Decision((pb.Train(0, {"x": x}, 0),))]
        events += [pb.Report(1, 1, 2.0), Decision((pb.Train(1, {"x": 0.5}, 1),))]
        rebuilt = Population.restore(population.space, population.strategy, events, size=3, intervals=9, sync=False)
        (action,) = trained(rebuilt.tell(2, 0.0))
        assert action.source == 1
        given.append(action.hparams["x"])
    assert abs(given[0] - 0.2) > 0.2
    assert abs(given[1] - 0.8) > 0.2
    assert given[0] != given[1]


def test_the_numbers_are_chosen_for_the_chosen_category() -> None:
    """Elsewhere the numeric part is conditioned on the donor's category, not on the one that was chosen."""
    space = pb.Space({"x": (0.0, 1.0), "c": pb.Choice("left", "right")})
    rng = np.random.default_rng(3)
    n = 60
    u = space.snap(rng.random((n, 2)))
    y = np.where(u[:, 1] == 1.0, 1.0 - 4 * (u[:, 0] - 0.8) ** 2, 0.5 - 4 * (u[:, 0] - 0.2) ** 2)
    rows = Rows.plain(u, np.ones(n))
    kernel = Kernel(tuple(space.is_choice.tolist()))
    standard, _ = standardise(y)
    posterior = Posterior.given(kernel, fit(kernel, rows, standard), rows, standard)
    assert posterior is not None
    from popbandits.bandit import Box, maximise, sweep_box

    donor = np.array([[0.2, 0.0]])
    box = Box(1.0, np.zeros(2), np.ones(2), donor)
    found = maximise(posterior, UpperConfidenceBound(0.01), box, sweep_box(posterior, box, space.snap, rng), space.snap)
    assert space.decode(found)["c"] == "right"
    assert found[0] == pytest.approx(0.8, abs=0.1)


def test_pending_agents_are_those_that_train_not_those_replaced(asked: list[Asked]) -> None:
    population = make(pb.PB2.paper(), 4, 9)
    drive(population, most=8)
    one, history = asked[0], population.history
    pending = one.posterior.rows.u[len(one.posterior.alpha) :].tolist()
    (copied,) = (r for r in range(4, 8) if history.donor[r] != history.agent[r])
    (before,) = (r for r in range(4) if history.agent[r] == history.agent[copied])
    assert history.points[before].tolist() not in pending, "what the replaced agent trained with"
    assert sorted(pending) == sorted(history.points[r].tolist() for r in range(4, 8) if r != copied)


def test_pb2_is_what_real_training_chose() -> None:
    assert pb.PB2() == pb.PB2(quantile=0.25, patience=2, spread=0.2, window=1000)


@pytest.mark.slow
class TestTheBanditLearns:
    """The last two rows of the table of oracles."""

    def test_at_noise_as_large_as_the_signal_the_optimum_is_found_to_half_of_chance(self) -> None:
        def error(strategy: Any) -> float:
            off = []
            for seed in range(12):
                problem = MovingPeak(2, 0.0, seed=seed)
                history = simulate(problem, strategy, size=8, intervals=25, seed=seed, noise=1.0).history
                explored = (history.donor != history.agent) & (history.interval > 12)
                off.append(np.abs(history.points[explored] - problem.centres[0]).mean())
            return float(np.mean(off))

        assert error(pb.PB2()) < 0.5 * error(pb.PBT(resample_probability=1.0))

    def test_on_a_moving_optimum_forgetting_pays_and_the_bandit_beats_pbt_and_random_search(self) -> None:
        def regret(strategy: Any) -> float:
            problems = [MovingPeak(2, 0.08, seed=seed) for seed in range(16)]
            runs = [simulate(p, strategy, size=6, intervals=40, seed=p.seed, noise=0.3) for p in problems]
            return float(np.mean([run.regret for run in runs]))

        learned = regret(pb.PB2.paper())
        assert learned < regret(pb.PB2.paper(omega=0.0))
        assert learned < regret(pb.PBT())
        assert learned < regret(pb.RandomSearch())
