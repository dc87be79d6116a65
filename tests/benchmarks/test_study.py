"""The strategies that the study compares PB2 with, and its tables."""

from typing import Any

import numpy as np
import pytest

import popbandits as pb
from benchmarks import _digits, _ray_pb2
from benchmarks.study import PROBLEMS, STRATEGIES, TABLES, show
from popbandits.population import View
from popbandits.problems import REFERENCES, MovingPeak, simulate


def test_dice_copy_as_pb2_does_and_draw_neighbours_at_random() -> None:
    """Until the model first chooses among more than one neighbour, both do the same; afterwards they differ."""
    ours, control = (
        simulate(MovingPeak(2, 0.0), strategy(), size=8, intervals=12, seed=3).history
        for strategy in (pb.PB2, STRATEGIES["dice"])
    )
    early = ours.interval <= 2
    assert ours.donor[early].tolist() == control.donor[early].tolist()
    assert (ours.points != control.points).any()


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
