"""The strategies that the study compares PB2 with, and its tables."""

from typing import Any

import numpy as np
import pytest

import popbandits as pb
from benchmarks import _digits, _ray_pb2
from benchmarks._calm import CalmPB2
from benchmarks._dice import DicePB2
from benchmarks._exp3 import MixPB2
from benchmarks.adaptive import ShrinkingPB2
from benchmarks.study import PROBLEMS, STRATEGIES, TABLES, show
from popbandits.population import View
from popbandits.problems import REFERENCES, Mixed, MovingPeak, simulate


def test_dice_copy_as_pb2_does_and_draw_uniformly() -> None:
    """After one interval with equal scores, both have the same ranks, so the same copies."""
    ours, control = (
        simulate(MovingPeak(2, 0.0), strategy, size=8, intervals=2, seed=3).history
        for strategy in (pb.PB2(), DicePB2())
    )
    assert ours.donor.tolist() == control.donor.tolist()
    assert (ours.points != control.points).any()
    many = simulate(MovingPeak(1, 0.0), DicePB2(), size=8, intervals=60, seed=1).history
    drawn = many.points[many.donor != many.agent][:, 0]
    assert drawn.mean() == pytest.approx(0.5, abs=0.06)
    assert drawn.std() == pytest.approx(12**-0.5, abs=0.04)


def test_a_bandit_for_categories_chooses_values_of_the_space() -> None:
    history = simulate(Mixed(seed=1), MixPB2(), size=4, intervals=6, seed=1).history
    assert len(history) == 24
    copies = [row for row in range(24) if history.donor[row] != history.agent[row] and history.interval[row] > 1]
    assert len({history.hparams(row)["kind"] for row in copies}) > 1


def test_pb2_that_nothing_surprises_is_pb2_until_something_does() -> None:
    problem = MovingPeak(2, 0.0, 8, seed=2)
    ours, calm = (
        simulate(problem, strategy, size=8, intervals=12, seed=2, noise=0.3) for strategy in (pb.PB2(), CalmPB2())
    )
    assert ours.notes["surprises"] > calm.notes["surprises"] == 0
    early = ours.history.interval <= 8
    assert (ours.history.points[early] == calm.history.points[early]).all()


def test_the_slope_of_digits_equals_finite_differences_and_each_optimiser_learns() -> None:
    problem = _digits.Digits()
    rng = np.random.default_rng(0)
    network = problem.fresh(rng)[: _digits._SIZE]
    images, digits = (part[:20] for part in _digits._images())

    def loss(at: Any) -> float:
        return -float((digits * _digits._log_softmax(_digits._forward(at, images)[1])).sum(axis=1).mean())

    slope = _digits._slope(network, images, digits)
    for i in rng.integers(0, len(network), 20):
        off = 1e-5 * np.eye(1, len(network), i)[0]
        assert slope[i] == pytest.approx((loss(network + off) - loss(network - off)) / 2e-5, abs=1e-7)
    for optimiser, rate in (("sgd", 0.3), ("momentum", 0.05), ("adam", 0.005)):
        weights = problem.fresh(rng)
        for interval in range(1, 6):
            weights = problem.train(weights, {"lr": rate, "optimiser": optimiser}, interval, rng)
        assert problem.score(weights) > 0.2 * problem.score(problem.fresh(rng))


def test_a_population_shrinks_as_far_as_it_may() -> None:
    trained = [
        len(simulate(MovingPeak(2, 0.0), ShrinkingPB2(share=share), size=6, intervals=8, seed=0).history)
        for share in (0.0, 10.0)
    ]
    assert trained == [48, 6 + 3 + 2 * 6]  # 10: whoever is to move retires at once, down to two agents


def test_ray_is_given_the_rows_that_its_own_functions_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the table made from the history goes one that Ray's function has added its rows to itself."""
    import pandas as pd
    from ray.tune.schedulers import pb2

    kept: list[pd.DataFrame] = [pd.DataFrame()]
    compared = []
    explore, made = pb2._explore, _ray_pb2._data

    def exploring(data: pd.DataFrame, *rest: Any) -> Any:
        config, kept[0] = explore(data, *rest)
        return config, kept[0]

    def both(view: View, names: list[str]) -> pd.DataFrame:
        ours = made(view, names)
        newest = view.history.interval.max()
        reported = ours[ours["Time"] == newest]
        kept[0] = pd.concat([kept[0], reported], ignore_index=True)
        compared.append(sorted(map(tuple, ours.to_numpy().tolist())) == sorted(map(tuple, kept[0].to_numpy().tolist())))
        return kept[0]

    monkeypatch.setattr(pb2, "_explore", exploring)
    monkeypatch.setattr(_ray_pb2, "_data", both)
    simulate(MovingPeak(2, 0.03, seed=1), _ray_pb2.RayPB2(), size=4, intervals=6, seed=1, noise=0.5)
    assert compared == [True] * 5


def test_the_studys_tables_name_what_there_is() -> None:
    for table in TABLES.values():
        assert set(table.strategies) <= {*STRATEGIES, *REFERENCES}
        assert set(table.problems) <= set(PROBLEMS)
    assert any(line.startswith("### ") for line in show())
