import math

import numpy as np
import pytest

import popbandits as pb
from popbandits._random import generator
from popbandits.bandit import ExpectedImprovement, UpperConfidenceBound
from popbandits.gp import Kernel, Posterior, Rows, Theta
from popbandits.population import Population
from popbandits.strategies._scouts import SCOUTED, most_promising, scouted_point
from tests.drive import seen

KERNEL, THETA = Kernel((False,)), Theta(1.0, (0.01,), 0.0, 1e-4)


def belief(at: list[float], gains: list[float]) -> Posterior:
    rows = Rows(np.array(at)[:, None], np.ones(len(at)), np.arange(len(at)), np.full(len(at), -1))
    found = Posterior.given(KERNEL, THETA, rows, np.array(gains))
    assert found is not None
    return found


def test_a_scout_does_not_return_to_a_known_loss_because_little_is_known_there() -> None:
    view = seen([1.0, 2.0])
    used, other = view.history.points[:2, 0].tolist()
    posterior = belief([used, other], [1.5, -1.5])
    near_the_best, near_the_loss = points = np.array([[used + 0.002], [other - 0.015]])
    mean, deviation = posterior.mean_and_deviation(points, 2.0)
    assert int(np.argmax(UpperConfidenceBound(9.0)(mean, deviation))) == 1, "the bold bound would"
    assert most_promising(view, points, 2.0, posterior) == pytest.approx(near_the_best)
    unknown = np.array([[near_the_loss[0]], [(used + other) / 2]])
    assert most_promising(view, unknown, 2.0, posterior) == pytest.approx(unknown[1])


def test_a_scout_tries_that_of_its_points_from_which_most_improvement_is_expected() -> None:
    view = seen([1.0, 2.0, 3.0, 4.0])
    posterior = belief([0.1, 0.5, 0.9], [-1.0, 0.5, 1.0])
    best = float(posterior.mean(view.history.points, 2.0).max())
    for agent in range(4):
        rng = generator(0, "scout", 1, agent)
        points = np.array([view.space.encode(view.space.sample(rng)) for _ in range(SCOUTED)])
        worth = ExpectedImprovement(best)(*posterior.mean_and_deviation(points, 2.0))
        found = scouted_point(view, agent, 2.0, posterior)
        assert found.tolist() == points[int(np.argmax(worth))].tolist()


def test_a_scout_knows_who_is_in_training() -> None:
    view = seen([1.0, 2.0, 3.0])
    posterior = belief([0.5], [0.0])
    alone = scouted_point(view, 1, 2.0, posterior)
    taken = posterior.while_training(posterior.rows.another(alone, 2.0, -1))
    assert scouted_point(view, 1, 2.0, taken).tolist() != alone.tolist(), "the same draws, another of them"


def test_scouts_go_everywhere_and_the_same_way_twice() -> None:
    view, posterior = seen([1.0] * 40), belief([0.5], [0.0])
    found = [scouted_point(view, agent, 2.0, posterior)[0] for agent in range(40)]
    assert found == [scouted_point(view, agent, 2.0, posterior)[0] for agent in range(40)]
    assert min(found) < 0.1
    assert max(found) > 0.9


def test_a_population_whose_agents_were_all_lost_goes_on() -> None:
    for sync in (True, False):
        population = Population({"x": (0.0, 1.0)}, pb.PB2(), size=8, intervals=4, sync=sync)
        population.start()
        while population.training:
            job = next(iter(population.training.values()))
            population.tell(job.agent, math.nan if job.interval <= 2 else float(job.interval))
        assert len(population.history) == 32
