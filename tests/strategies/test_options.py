"""Strategies that were written to a file, today or earlier."""

import pytest

import popbandits as pb
from popbandits.population import Strategy
from popbandits.strategies import describe_strategy, restore_strategy
from tests.drive import seen


@pytest.mark.parametrize("strategy", [pb.PB2(), pb.PB2.paper(), pb.PB2(window=10), pb.PBT(), pb.ASHA()], ids=str)
def test_a_strategy_is_restored_as_it_was_described(strategy: Strategy) -> None:
    assert restore_strategy(describe_strategy(strategy)) == strategy


EARLIER = {
    "quantile": 0.25,
    "explore": "middle",
    "beta": 9.0,
    "omega": None,
    "window": 1000,
    "lineage_noise": True,
    "fading_gains": True,
    "common_effect": False,
    "trust_region": True,
}
"""The options of a PB2 that there is no more, as a run kept them."""


def test_an_earlier_pb2_without_its_parts_is_the_papers() -> None:
    papers = {"explore": "copied", "beta": "paper", "lineage_noise": False, "trust_region": False}
    for options in (EARLIER | papers | {"fading_gains": False}, {"explore": "copied", "trust_region": False}):
        assert restore_strategy({"name": "pb2", "options": options}) == pb.PB2.paper()


def test_an_earlier_pb2_can_be_looked_at_but_decides_no_more() -> None:
    restored = restore_strategy({"name": "pb2", "options": EARLIER})
    assert describe_strategy(restored) == {"name": "pb2", "options": EARLIER}
    with pytest.raises(
        pb.OptionError, match=r"begun with an earlier pb2 .*can be looked at and reported, but not resumed"
    ):
        restored.start(seen([1.0, 2.0]))
