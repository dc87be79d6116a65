"""Strategies that were written to a file, today or earlier."""

import pytest

import popbandits as pb
from popbandits.population import Strategy
from popbandits.strategies import describe_strategy, restore_strategy


@pytest.mark.parametrize("strategy", [pb.PB2(), pb.PB2.paper(), pb.PB2(window=10), pb.PBT(), pb.ASHA()], ids=str)
def test_a_strategy_is_restored_as_it_was_described(strategy: Strategy) -> None:
    assert restore_strategy(describe_strategy(strategy)) == strategy


def test_a_pb2_from_before_gains_could_fade_is_restored_without_that() -> None:
    described = describe_strategy(pb.PB2.paper())
    del described["options"]["fading_gains"]
    assert restore_strategy(described) == pb.PB2.paper()
