"""The box that a copy searches."""

import math

import numpy as np
import pytest

import popbandits as pb
from popbandits.strategies._region import region
from tests.drive import grow, make

CENTRE = np.full(2, 0.5)


def sides(lengthscales: tuple[float, ...], omega: float) -> list[float]:
    lower, upper = region(CENTRE, lengthscales, omega, [True, True])
    return list(upper - lower)


def test_sides_are_half_the_lengthscales_and_what_hardly_matters_is_searched_from_end_to_end() -> None:
    assert sides((0.2, 0.4), 0.0) == pytest.approx([0.1, 0.2])
    assert sides((0.2, 4.0), 0.0) == pytest.approx([0.1, 1.0])


def test_the_box_grows_with_what_is_forgotten_until_it_is_the_cube() -> None:
    assert sides((0.3, 0.3), 0.5)[0] == pytest.approx(0.15 / math.sqrt(0.5))
    assert sides((0.3, 0.3), 0.99) == [1.0, 1.0]


def test_the_cube_cuts_it_and_choices_are_free() -> None:
    lower, upper = region(np.array([0.05, 0.3]), (0.3,), 0.0, [True, False])
    assert lower.tolist() == [0.0, 0.0]
    assert upper.tolist() == [pytest.approx(0.125), 1.0]


def test_an_int_finds_its_neighbours_in_the_cube() -> None:
    space = pb.Space({"x": (0.0, 1.0), "n": pb.Int(0, 2), "m": pb.Int(1, 8, log=True)})
    below, above = space.neighbours(space.encode({"x": 0.3, "n": 0, "m": 2}))
    assert space.decode(below) == {"x": 0.3, "n": 0, "m": 1}
    assert space.decode(above) == {"x": 0.3, "n": 1, "m": 3}


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("high", [1, 2])
def test_an_int_of_few_values_is_not_frozen_by_its_box(size: int, high: int) -> None:
    """The box around a value must hold the next one: with one or two agents nobody scouts."""
    for seed in range(4):
        population = make(pb.PB2(), size, 12, space={"n": pb.Int(0, high)}, seed=seed)
        grow(population, lambda hparams: float(hparams["n"] == high))
        assert population.best is not None
        assert population.best.score >= 6
