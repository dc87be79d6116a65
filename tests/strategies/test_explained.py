"""What PB2 tells people about where agents stand and what hparams have done."""

from typing import Any

import numpy as np
import pytest

import popbandits as pb
from popbandits.population import Population
from popbandits.strategies import Explanation
from popbandits.view import standings, told_effects
from tests.drive import make

SPACE = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def explained(path: list[Any], size: int, intervals: int = 20, space: Any = None) -> Explanation:
    strategy = pb.PB2()
    population = Population.restore(
        make(strategy, size, intervals, space=space or {"x": (0.0, 1.0)}).space,
        strategy,
        path,
        size=size,
        intervals=intervals,
    )
    found = strategy.explain(population.view())
    assert found is not None
    return found


def path_of(scores: list[list[float]], error: float | None = None) -> list[Any]:
    """Agents that keep their hparams, and report these scores interval by interval."""
    size = len(scores[0])
    path: list[Any] = [pb.Decision(tuple(pb.Train(a, {"x": a / size}) for a in range(size)))]
    for interval, row in enumerate(scores, 1):
        path += [pb.Report(agent, interval, score, error) for agent, score in enumerate(row)]
        path.append(pb.Decision(tuple(pb.Train(a, {"x": a / size}, a) for a in range(size))))
    return path


def test_who_leads_who_is_last_and_who_stands_still_is_told() -> None:
    told = explained(path_of([[0.0, 0.0, 0.0], [1.0, 2.0, 0.0], [2.0, 4.0, 0.0]]), 3)
    assert standings(told) == {
        0: "goes on",
        1: "leads: others copy it",
        2: "its score has not moved for 3 intervals; next to go",
    }


def test_while_nobody_has_learned_nobody_leads() -> None:
    told = explained(path_of([[0.0, -1.0], [0.0, -2.0]]), 2)
    assert all(not place.learned for place in told.places)
    assert standings(told)[1] == "nobody is copied before somebody has learned"


def test_a_copy_is_told_and_has_time() -> None:
    path = path_of([[0.0, 0.0, 0.0], [1.0, 2.0, 0.5]])
    path[-1] = pb.Decision((pb.Train(0, {"x": 0.0}, 0), pb.Train(1, {"x": 1 / 3}, 1), pb.Train(2, {"x": 0.4}, 1)))
    path += [pb.Report(agent, 3, score) for agent, score in enumerate([2.5, 3.0, 2.0])]
    told = explained(path, 3)
    assert standings(told)[2] == "copied agent 1; next to go, but spared: 1 of 2 intervals since its change"


def test_how_sure_the_ranking_is_follows_from_the_errors_of_scores() -> None:
    scores = [[0.0, 0.0], [3.0, 2.0]]
    assert explained(path_of(scores), 2).sure is None, "no errors, so nothing is known"
    assert explained(path_of(scores, 0.1), 2).sure == pytest.approx(1.0)
    doubtful = explained(path_of(scores, 2.0), 2).sure
    assert doubtful is not None
    assert 0.6 < doubtful < 0.7


def test_effects_at_once_and_effects_that_stay_are_told_apart() -> None:
    """Raising x costs five at once; y adds ten in every interval for as long as it is held, whatever it was before."""
    rng = np.random.default_rng(0)
    size, score = 8, np.zeros(8)
    points = rng.random((size, 2))
    path: list[Any] = [
        pb.Decision(tuple(pb.Train(a, {"x": float(p[0]), "y": float(p[1])}) for a, p in enumerate(points)))
    ]
    for interval in range(1, 13):
        path += [pb.Report(agent, interval, float(score[agent])) for agent in range(size)]
        moved = points if interval % 2 else rng.random((size, 2))
        step = np.where(interval % 2, 10.0 * points[:, 1], -5.0 * (moved - points)[:, 0])
        score = score + step + 0.01 * rng.standard_normal(size)
        points = moved
        path.append(
            pb.Decision(tuple(pb.Train(a, {"x": float(p[0]), "y": float(p[1])}, a) for a, p in enumerate(points)))
        )
    found = {effect.name: effect for effect in explained(path, size, space=SPACE).effects}
    x, y = found["x"], found["y"]
    assert x.at_once is not None
    assert x.stays is not None
    assert y.at_once is not None
    assert y.stays is not None
    assert x.at_once[0] == pytest.approx(-0.5, abs=0.05)
    assert y.stays[0] == pytest.approx(1.0, abs=0.05)
    assert abs(x.stays[0]) < 0.1
    assert abs(y.at_once[0]) < 0.1
    assert x.negated().at_once == (-x.at_once[0], x.at_once[1])


def test_what_cannot_be_told_is_not_told() -> None:
    told = explained(path_of([[0.0, 0.0], [1.0, 2.0]]), 2)
    assert list(told_effects(told)) == ["effects that cannot be told from noise yet: x"]


def test_before_the_first_interval_there_is_nothing_to_explain() -> None:
    population = make(pb.PB2(), 2, 5)
    population.start()
    assert pb.PB2().explain(population.view()) is None
