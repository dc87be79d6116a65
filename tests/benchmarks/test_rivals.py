from collections.abc import Callable

import pytest

from benchmarks.rivals.dexpbt import DexPBT
from benchmarks.rivals.ipbt import IPBT
from benchmarks.rivals.mf_pbt import MFPBT
from popbandits.population import Population, Strategy
from popbandits.testing import STRATEGY_CHECKS, decisions, drive


@pytest.mark.parametrize("strategy", [DexPBT(), MFPBT(), IPBT()], ids=lambda strategy: type(strategy).__name__)
@pytest.mark.parametrize("check", STRATEGY_CHECKS)
def test_a_rival_keeps_the_contract(check: Callable[[Strategy], None], strategy: Strategy) -> None:
    check(strategy)


def copies(strategy: Strategy, scores: list[list[float]]) -> list[dict[int, int | None]]:
    """Who copies whom after each interval, when agents report these scores."""
    population = Population({"x": (0.1, 1.0)}, strategy, size=len(scores[0]), intervals=len(scores) + 1)
    events = drive(population, lambda job: scores[job.interval - 1][job.agent], most=len(scores) * len(scores[0]))
    return [{a.agent: a.source for a in d.trained if a.source != a.agent} for d in decisions(events)[1:]]


def test_dexpbt_waits_and_copies_only_across_a_clear_gap() -> None:
    assert copies(DexPBT(), [[0.0, 9.0, 9.0, 9.0], [0.0, 9.0, 9.0, 9.0]])[0] == {}
    assert set(copies(DexPBT(), [[0.0, 9.0, 9.0, 9.0]] * 2)[1]) == {0}
    assert copies(DexPBT(), [[8.9, 9.0, 9.0, 9.0]] * 2)[1] == {}, "five per cent of nine is more than a tenth"


def test_mf_pbt_lets_its_slow_half_wait() -> None:
    found = copies(MFPBT(), [[0.0, 0.0, 5.0, 4.0]] * 3)
    assert [set(step) for step in found] == [{0}, {0}, {0, 1}]
    assert found[2] == {0: 2, 1: 2}, "the slow half takes the weights of the leader"


def test_ipbt_restarts_when_it_stalls_and_then_decides_half_as_often() -> None:
    found = copies(IPBT(), [[1.0, 2.0, 3.0, 4.0]] * 5)
    assert [sorted(step.items(), key=str) for step in found[:2]] == [[(0, 3)], [(0, 3)]]
    assert found[2] == {0: None, 1: None}
    assert found[3] == {}
