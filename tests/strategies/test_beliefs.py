import json
from dataclasses import asdict
from typing import TypeAlias

import numpy as np
import pytest

import popbandits as pb
from popbandits import testing
from popbandits.gp import Kernel, Posterior, Rows, Theta
from popbandits.population import Population
from popbandits.problems import FAMILIES, simulate
from popbandits.strategies._beliefs import edge_over_chance
from popbandits.view import told
from tests import drive

PB2: TypeAlias = pb.PB2 | pb.strategies.PaperPB2


def learned(noise: float, effect: float, strategy: PB2, intervals: int = 12) -> pb.strategies.Beliefs:
    rng = np.random.default_rng(0)
    population = Population({"x": (0.0, 1.0), "y": (0.0, 1.0)}, strategy, size=4, intervals=intervals)
    drive.grow(
        population,
        lambda hparams: effect * (1 - 4 * (hparams["x"] - 0.4) ** 2),
        lambda: noise * float(rng.standard_normal()),
    )
    found = strategy.beliefs(population.notes, population.space, 4)
    assert found is not None
    return found


@pytest.mark.parametrize("strategy", [pb.PB2(), pb.PB2.paper()], ids=["pb2", "paper"])
def test_what_matters_is_told_from_what_does_not(strategy: PB2) -> None:
    found = learned(0.01, 1.0, strategy)
    assert found.lengthscales["x"] < found.lengthscales["y"]
    assert found.edge is not None
    assert found.edge > 0.6
    assert found.noise < found.signal
    assert not found.warnings
    json.dumps(asdict(found))
    assert "most telling: x" in "\n".join(told(found))


def test_noise_above_the_signal_is_said_in_plain_words() -> None:
    found = learned(3.0, 0.01, pb.PB2.paper())
    assert any("intervals may be too short" in warning for warning in found.warnings)
    assert any(line.startswith("note: intervals may be too short: a score errs by") for line in told(found))


def test_without_noise_nobody_is_advised_to_train_longer() -> None:
    for seed in range(3):
        population = Population({"kind": pb.Choice("a", "b", "c")}, pb.PB2(), size=4, intervals=12, seed=seed)
        drive.grow(population, lambda hparams: {"a": 0.0, "b": 0.5, "c": 1.0}[hparams["kind"]])
        found = pb.PB2().beliefs(population.notes, population.space, 4)
        assert found is not None
        assert not any("interval" in warning for warning in found.warnings)
        assert "telling" not in "\n".join(told(found)), "there are no lengthscales to tell"


def test_scores_that_never_change_are_said_to_teach_nothing() -> None:
    found = learned(0.0, 0.0, pb.PB2.paper())
    assert (found.signal, found.noise) == (0.0, 0.0)
    assert any("nothing to learn from" in warning for warning in found.warnings)


@pytest.mark.parametrize(("family", "least", "most"), [("gp-unlearnable", 2, 3), ("peak-3d", 0, 0)])
def test_the_warning_is_for_choices_at_chance(family: str, least: int, most: int) -> None:
    make, noise, _ = FAMILIES[family]
    said = 0
    for seed in range(3):
        problem = make(seed)
        notes = simulate(problem, pb.PB2.paper(), size=4, intervals=20, seed=seed, noise=noise).notes
        found = pb.PB2.paper().beliefs(notes, problem.space, 4)
        assert found is not None
        said += any("chance" in warning for warning in found.warnings)
    assert least <= said <= most


def test_the_noise_of_a_gain_is_that_of_two_scores() -> None:
    notes = {
        "theta": {"signal": 1.0, "noise": 2.0, "common": 0.0, "omega": 0.1, "lengthscales": [0.3], "fade": 0.0},
        "unit": 1.0,
        "rows": 4,
        "block": 4,
        "fallbacks": 0,
    }
    for gains, expected in ((False, 2**0.5), (True, 1.0)):
        found = pb.PB2().beliefs(notes | {"gains": gains}, pb.Space({"x": (0.0, 1.0)}), 4)
        assert found is not None
        assert found.noise == pytest.approx(expected)


def test_a_strategy_without_a_model_has_no_beliefs() -> None:
    population = Population({"x": (0.0, 1.0)}, pb.PBT(), size=4, intervals=3)
    testing.drive(population)
    assert not hasattr(pb.PBT(), "beliefs")
    assert pb.PB2().beliefs(population.notes, population.space, 4) is None


def test_the_edge_is_one_half_without_knowledge_and_high_at_a_known_peak() -> None:
    space = pb.Space({"x": (0.0, 1.0)})
    kernel, theta = Kernel((False,)), Theta(1.0, (0.2,), 0.01, 0.01)
    points = np.linspace(0.05, 0.95, 10)[:, None]
    rows = Rows.plain(points, np.ones(10))
    peak = Posterior.given(kernel, theta, rows, np.exp(-50 * (points[:, 0] - 0.5) ** 2))
    flat = Posterior.given(kernel, theta, rows[:0], np.zeros(0))
    assert peak is not None
    assert flat is not None
    assert edge_over_chance(flat, np.array([[0.3]]), 2.0, space, 0) == pytest.approx(0.5)
    assert edge_over_chance(peak, np.array([[0.5]]), 2.0, space, 0) > 0.75
    assert edge_over_chance(peak, np.array([[0.02]]), 2.0, space, 0) < 0.5


def test_the_edge_compares_a_choice_with_other_values_than_its_own() -> None:
    space = pb.Space({"kind": pb.Choice("a", "b")})
    points = space.snap(np.array([[0.0], [1.0]]))
    rows = Rows.plain(points, np.ones(2))
    sure = Posterior.given(Kernel((True,)), Theta(1.0, (), 0.001, 1e-4), rows, np.array([0.0, 1.0]))
    assert sure is not None
    assert edge_over_chance(sure, points[1:], 2.0, space, 0) > 0.99
    assert edge_over_chance(sure, points[:1], 2.0, space, 0) < 0.01
