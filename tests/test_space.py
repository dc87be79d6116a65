import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import popbandits as pb
from popbandits.space import as_space, space_from_json, space_from_toml, space_to_json, space_to_toml

finite = st.floats(-1e12, 1e12)
positive = st.floats(1e-12, 1e12)


@st.composite
def floats(draw: st.DrawFn) -> pb.Float:
    scale = draw(st.sampled_from(["linear", "log", "logit"]))
    source = {"linear": finite, "log": positive, "logit": st.floats(1e-6, 1 - 1e-6)}[scale]
    low, high = sorted([draw(source), draw(source)])
    return pb.Float(low, high, log=scale == "log", logit=scale == "logit")


@st.composite
def ints(draw: st.DrawFn) -> pb.Int:
    log = draw(st.booleans())
    low, high = sorted([draw(st.integers(1 if log else -(10**9), 10**9)) for _ in range(2)])
    return pb.Int(low, high, log=log)


choices = st.lists(st.one_of(st.text(max_size=3), st.integers(), st.booleans()), min_size=1, max_size=9)
params = st.one_of(floats(), ints(), choices.map(lambda values: pb.Choice(*dict.fromkeys(map(repr, values)))))


@given(params, st.floats(-0.5, 1.5))
def test_values_never_leave_the_bounds(param: Any, u: float) -> None:
    value = param.from_unit(u)
    assert 0.0 <= param.to_unit(value) <= 1.0
    if not isinstance(param, pb.Choice):
        assert param.low <= value <= param.high


@given(params)
def test_both_ends_are_exact(param: Any) -> None:
    ends = (param.values[0], param.values[-1]) if isinstance(param, pb.Choice) else (param.low, param.high)
    assert (param.from_unit(0.0), param.from_unit(1.0)) == ends
    if param.n_values > 1:
        assert (param.to_unit(ends[0]), param.to_unit(ends[1])) == (0.0, 1.0)


@given(st.one_of(ints(), choices.map(lambda values: pb.Choice(*dict.fromkeys(map(repr, values))))), st.floats(0, 1))
def test_discrete_values_survive_the_way_to_the_cube_and_back(param: Any, u: float) -> None:
    value = param.from_unit(u)
    assert param.from_unit(param.to_unit(value)) == value


@given(floats(), st.floats(0, 1))
def test_floats_survive_the_way_to_the_cube_and_back(param: pb.Float, u: float) -> None:
    value = param.from_unit(u)
    assert param.from_unit(param.to_unit(value)) == pytest.approx(value, rel=1e-6, abs=1e-9 * (param.high - param.low))


@given(ints())
def test_int_reaches_every_value_near_its_bounds(param: pb.Int) -> None:
    reached = {param.from_unit(param.to_unit(v)) for v in (param.low, param.high)}
    assert reached == {param.low, param.high}


def test_int_rounds_and_never_truncates() -> None:
    assert [pb.Int(0, 10).from_unit(u) for u in (0.06, 0.94, 0.96)] == [1, 9, 10]


def test_int_sampling_gives_every_value_an_equal_share() -> None:
    rng = np.random.default_rng(0)
    counts = np.bincount([pb.Int(0, 3).sample(rng) for _ in range(8000)], minlength=4)
    assert np.all(np.abs(counts - 2000) < 200)


@given(st.lists(params, min_size=1, max_size=4), st.data())
def test_snap_is_decode_then_encode(some: list[Any], data: st.DataObject) -> None:
    space = pb.Space({f"p{i}": param for i, param in enumerate(some)})
    points = np.array([[data.draw(st.floats(0, 1)) for _ in range(space.dim)] for _ in range(3)]).reshape(3, space.dim)
    exact = np.array([space.encode(space.decode(point)) for point in points]).reshape(3, space.dim)
    for j, param in enumerate(space.active):
        if isinstance(param, pb.Choice):
            assert np.array_equal(space.snap(points)[:, j], exact[:, j])
        elif isinstance(param, pb.Int) and param.n_values < 1000:
            np.testing.assert_allclose(space.snap(points)[:, j], exact[:, j], atol=1e-12)


def test_a_dict_of_tuples_and_constants_is_a_space() -> None:
    space = as_space({"lr": (0.0, 1.0), "layers": (1, 4), "gamma": 0.99, "net": {"act": pb.Choice("relu", "tanh")}})
    assert space.params["lr"] == pb.Float(0, 1)
    assert space.params["layers"] == pb.Int(1, 4)
    assert space.names == ("lr", "layers", "net.act")
    assert space.decode([0, 1, 1]) == {"lr": 0.0, "layers": 4, "gamma": 0.99, "net": {"act": "tanh"}}


def test_a_parameter_with_one_value_has_no_coordinate() -> None:
    space = pb.Space({"a": pb.Float(2, 2), "b": pb.Int(3, 3), "c": pb.Choice("x"), "d": (0.0, 1.0)})
    assert space.names == ("d",)
    assert space.decode([0.5]) == {"a": 2.0, "b": 3, "c": "x", "d": 0.5}


def test_hparams_come_back_from_numbers_to_the_last_bit() -> None:
    space = pb.Space({"lr": pb.Float(1e-5, 1e-1, log=True), "n": pb.Int(1, 10**9, log=True), "c": pb.Choice(1, True)})
    rng = np.random.default_rng(0)
    for _ in range(100):
        hparams = space.sample(rng)
        back = space.from_values(space.to_values(hparams))
        assert back == hparams
        assert [type(value) for value in back.values()] == [type(value) for value in hparams.values()]


SPACE = pb.Space(
    {
        "lr": pb.Float(1e-5, 1e-1, log=True),
        "gamma": pb.Float(0.9, 0.999, logit=True),
        "net": {"width": pb.Int(1, 64, log=True), "act": pb.Choice("relu", "tanh", 3, 2.5, True)},
        "name": 'a "quoted" \\ ünïcode',
        "steps": 100,
        "on": False,
    }
)


def test_json_and_toml_give_the_same_space_back() -> None:
    assert space_from_json(space_to_json(SPACE)) == SPACE
    assert space_from_toml(space_to_toml(SPACE)) == SPACE


@pytest.mark.parametrize(
    "space",
    [
        {"opt": {"type": "adam", "lr": (0.0, 1.0)}},
        {"clip": {"low": (0.0, 1.0), "high": (1.0, 2.0)}},
        {"n": (np.int64(1), np.int64(8)), "c": pb.Choice(*np.linspace(0, 1, 3)), "k": np.float32(0.5)},
    ],
    ids=str,
)
def test_spaces_with_awkward_names_and_numpy_numbers_come_back(space: dict[str, Any]) -> None:
    made = pb.Space(space)
    assert space_from_json(space_to_json(made)) == made
    assert space_from_toml(space_to_toml(made)) == made


def test_none_needs_json() -> None:
    space = pb.Space({"a": pb.Choice(None, 1)})
    assert space_from_json(space_to_json(space)) == space
    with pytest.raises(pb.SpaceError, match="use JSON"):
        space_to_toml(space)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: pb.Float(3, 1), pb.BoundsError, r"`low <= high` must hold, but got \(low=3, high=1\)"),
        (lambda: pb.Int(3, 1), pb.BoundsError, r"`low <= high` must hold"),
        (lambda: pb.Float(0, math.inf), pb.BoundsError, "must be finite"),
        (lambda: pb.Float(math.nan, 1), pb.BoundsError, "must be finite"),
        (lambda: pb.Float(-1e308, 1e308), pb.BoundsError, "must be finite"),
        (lambda: pb.Float("a", 1), pb.BoundsError, "must be numbers"),  # type: ignore[arg-type]
        (lambda: pb.Float(0, 1, log=True), pb.BoundsError, "`low > 0` must hold with log=True"),
        (lambda: pb.Int(0, 9, log=True), pb.BoundsError, "`low > 0` must hold with log=True"),
        (lambda: pb.Float(0, 1, logit=True), pb.BoundsError, "logit=True"),
        (lambda: pb.Float(0.1, 0.9, log=True, logit=True), pb.BoundsError, "one scale"),
        (lambda: pb.Int(0.5, 2), pb.BoundsError, "whole numbers"),  # type: ignore[arg-type]
        (lambda: pb.Int(0, 2**60), pb.BoundsError, "2\\*\\*53"),
        (pb.Choice, pb.ChoiceError, "at least one value"),
        (lambda: pb.Choice("a", "b", "a"), pb.ChoiceError, "'a' twice"),
        (lambda: pb.Choice([1]), pb.ChoiceError, "strings, numbers"),
        (lambda: pb.Choice(math.nan), pb.ChoiceError, "finite"),
        (lambda: pb.Space({"a": (2.0, 1.0)}), pb.BoundsError, "'a'.*`low <= high`"),
        (lambda: pb.Space({"a": [1, 2]}), pb.SpaceError, "'a' must be Float"),
        (lambda: pb.Space({"a": {}}), pb.SpaceError, "is empty"),
        (lambda: pb.Space({"": 1}), pb.SpaceError, "printable"),
        (lambda: pb.Space({"a.b": 1, "a": {"b": 2}}), pb.SpaceError, "names must differ"),
        (lambda: pb.Space([1]), pb.SpaceError, "is a dict"),  # type: ignore[arg-type]
        (lambda: SPACE.encode({"lr": 1e-3}), pb.HparamsError, "'gamma' is missing"),
        (lambda: SPACE.encode({"lrr": 1e-3}), pb.HparamsError, "unknown hyperparameter 'lrr'; did you mean 'lr'"),
        (lambda: pb.Space({"a": (0, 5)}).encode({"a": 7}), pb.HparamsError, r"'a' must lie in \[0, 5\], but got 7"),
        (lambda: pb.Space({"a": (0, 5)}).encode({"a": 2.5}), pb.HparamsError, "whole number"),
        (lambda: pb.Space({"a": (0.0, 5.0)}).encode({"a": "1"}), pb.HparamsError, "must be a number"),
        (lambda: pb.Space({"a": (0.0, 5.0)}).encode({"a": math.nan}), pb.HparamsError, "finite"),
        (lambda: pb.Space({"a": pb.Choice(1, 2)}).encode({"a": 3}), pb.HparamsError, "one of 1, 2"),
        (lambda: pb.Space({"a": 1, "b": (0, 1)}).encode({"a": 2, "b": 0}), pb.HparamsError, "constant 1"),
        (lambda: space_from_json("{"), pb.SpaceError, "not valid JSON"),
        (lambda: space_from_json("[]"), pb.SpaceError, "is an object"),
        (lambda: space_from_toml("= 1"), pb.SpaceError, "not valid TOML"),
        (lambda: space_from_toml("a = {low=1, high=2}"), pb.SpaceError, "needs a type"),
        (lambda: space_from_toml("a = {type='real', low=1, high=2}"), pb.SpaceError, "float, int or choice"),
        (lambda: pb.Space({"a": math.inf}), pb.SpaceError, "must be finite"),
        (lambda: pb.Space({"a": {"type": "int", "b": (0, 1)}}), pb.SpaceError, "read as a parameter's kind"),
        (lambda: pb.Float(1, 2, log="no"), pb.BoundsError, "log must be True or False"),  # type: ignore[arg-type]
        (lambda: pb.Space({"a": (0, 1)}).decode([0.1, 0.2]), pb.HparamsError, "1 coordinates, but got 2"),
        (lambda: pb.Space({"a": (0.0, 1.0)}).encode({"a": 10**400}), pb.HparamsError, "must be a number"),
        (lambda: space_from_toml("a = {type='int', low=1}"), pb.SpaceError, "needs 'high'"),
        (lambda: space_from_toml("a = {type='int', low=1, high=2, step=1}"), pb.SpaceError, "'step'"),
        (lambda: space_from_toml("a = {type='int', low=3, high=2}"), pb.BoundsError, "'a': `low <= high`"),
        (lambda: space_from_toml("a = {type='choice', values=3}"), pb.SpaceError, "must be a list"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, pb.PopbanditsError)
