"""The strategies that the study compares PB2 with, and its tables."""

import pytest
from benchmarks._dice import DicePB2
from benchmarks._exp3 import MixPB2
from benchmarks.adaptive import ShrinkingPB2
from benchmarks.study import PROBLEMS, STRATEGIES, TABLES, show

import popbandits as pb
from popbandits.problems import Mixed, MovingPeak, simulate


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


def test_a_population_shrinks_as_far_as_it_may() -> None:
    trained = [
        len(simulate(MovingPeak(2, 0.0), ShrinkingPB2(share=share), size=6, intervals=8, seed=0).history)
        for share in (0.0, 10.0)
    ]
    assert trained == [48, 6 + 3 + 2 * 6]  # 10: every copy retires at once, down to two agents


def test_the_studys_tables_name_what_there_is() -> None:
    for table in TABLES.values():
        assert set(table.strategies) <= set(STRATEGIES)
        assert set(table.problems) <= set(PROBLEMS)
    assert any(line.startswith("### ") for line in show())
