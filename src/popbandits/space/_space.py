"""Space: named hyperparameters, constants and nested groups of them, as one unit cube.

The cube has one coordinate for each hyperparameter that can take two values or more, in the order they were given.
Constants and parameters with one value have no coordinate. A Choice's coordinate stands for its values in equal shares.
"""

import difflib
import math
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Union

import numpy as np

from popbandits._errors import HparamsError, SpaceError
from popbandits._types import Bools, Floats, Hparams
from popbandits.space._params import Choice, Float, Int, Param

_PARAMS = (Float, Int, Choice)


class Space:
    """What each hyperparameter may be.

    Args:
        params: name to `Float`, `Int`, `Choice`, a `(low, high)` tuple (a Float, or an Int when both are whole numbers
            of type int), a constant, or a dict of these, nested as deep as you like.

    Raises:
        SpaceError: when a name or a value cannot be used.

    Examples:
        >>> space = Space({"lr": Float(1e-5, 1e-1, log=True), "net": {"width": Int(16, 256)}, "gamma": 0.99})
        >>> space.names
        ('lr', 'net.width')
        >>> space.decode([0.5, 1.0])
        {'lr': 0.001, 'net': {'width': 256}, 'gamma': 0.99}
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        if not isinstance(params, Mapping):
            raise SpaceError(f"a space is a dict from names to Float, Int, Choice or constants, but got {params!r}")
        leaves = dict(_leaves(params, ()))
        flat = [".".join(path) for path in leaves]
        for name in flat:
            if flat.count(name) > 1:
                raise SpaceError(f"names must differ, but {name!r} is given both nested and with a dot")
        self.params: dict[str, Any] = dict(zip(flat, leaves.values(), strict=True))
        """Dotted name to parameter or constant, everything."""
        self._paths = dict(zip(flat, leaves, strict=True))
        self._active: dict[str, Param] = {
            name: param for name, param in self.params.items() if isinstance(param, _PARAMS) and param.n_values > 1
        }

    def __repr__(self) -> str:
        return f"Space({self.as_dict()!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and list(self.params.items()) == list(other.params.items())

    def __hash__(self) -> int:
        return hash(tuple(self.params))

    def as_dict(self) -> dict[str, Any]:
        """Return the nested dict this space was made from, every value a parameter or a constant."""
        return self.nested(self.params)

    @property
    def names(self) -> tuple[str, ...]:
        """The dotted names of the cube's coordinates."""
        return tuple(self._active)

    @property
    def active(self) -> tuple[Param, ...]:
        """The parameters of the cube's coordinates."""
        return tuple(self._active.values())

    @property
    def dim(self) -> int:
        """The number of the cube's coordinates."""
        return len(self._active)

    def neighbours(self, point: Floats) -> tuple[Floats, Floats]:
        """Return a point with every Int at its next lower value, and one with each at its next higher, (dim,) both.

        Args:
            point: of the cube, snapped.
        """
        below, above = point.copy(), point.copy()
        for j, param in enumerate(self.active):
            if isinstance(param, Int):
                value = param.from_unit(float(point[j]))
                below[j] = param.to_unit(max(param.low, value - 1))
                above[j] = param.to_unit(min(param.high, value + 1))
        return below, above

    @property
    def is_choice(self) -> Bools:
        """Which coordinates belong to a Choice, shape (dim,)."""
        return np.array([isinstance(param, Choice) for param in self._active.values()], dtype=bool)

    @cached_property
    def equal_is_same(self) -> bool:
        """Whether hparams that Python calls equal are the same: not with a Choice between 1 and True."""
        chosen = [param.values for param in self._active.values() if isinstance(param, Choice)]
        return all(len(set(values)) == len(values) for values in chosen)

    def encode(self, hparams: Hparams) -> Floats:
        """Return the point of the cube for hparams, shape (dim,).

        Raises:
            HparamsError: for a name that is missing or unknown, or a value outside its parameter.
        """
        flat = dict(_flatten(hparams, ()))
        for name in flat:
            if name not in self.params:
                close = difflib.get_close_matches(name, self.params, n=1)
                hint = f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(self.params)}"
                raise HparamsError(f"unknown hyperparameter {name!r}{hint}")
        point = np.empty(len(self._active))
        j = 0
        for name, param in self.params.items():
            if name not in flat:
                raise HparamsError(f"hyperparameter {name!r} is missing; given were {', '.join(flat) or 'none'}")
            if not isinstance(param, _PARAMS):
                if flat[name] != param:
                    raise HparamsError(f"hyperparameter {name!r} is the constant {param!r}, but got {flat[name]!r}")
                continue
            try:
                u = param.to_unit(flat[name])
            except HparamsError as error:
                raise HparamsError(f"hyperparameter {name!r} {error}") from None
            if name in self._active:
                point[j] = u
                j += 1
        return point

    def decode(self, point: Any) -> dict[str, Any]:
        """Return the hparams at a point of the cube; coordinates outside [0, 1] are taken at the nearest end."""
        if len(point) != self.dim:
            raise HparamsError(f"a point has {self.dim} coordinates, but got {len(point)}")
        at = dict(zip(self._active, np.asarray(point, dtype=float).tolist(), strict=True))
        flat = {
            name: param.from_unit(at.get(name, 0.0)) if isinstance(param, _PARAMS) else param
            for name, param in self.params.items()
        }
        return self.nested(flat)

    def to_values(self, hparams: Hparams) -> list[float]:
        """Return the hparams of the cube's coordinates as numbers: a Float or Int itself, a Choice's position."""
        flat = self.flat(hparams)
        return [
            float(param.index(flat[name]) if isinstance(param, Choice) else flat[name])
            for name, param in self._active.items()
        ]

    def from_values(self, values: list[float]) -> dict[str, Any]:
        """Return the hparams that `to_values` turned into numbers, the same to the last bit."""
        given = dict(zip(self._active, values, strict=True))
        return self.nested({name: self._value(param, given.get(name)) for name, param in self.params.items()})

    @staticmethod
    def _value(param: Any, number: float | None) -> Any:
        if not isinstance(param, _PARAMS):
            return param
        if number is None:
            return param.from_unit(0.0)
        if isinstance(param, Choice):
            return param.values[int(number)]
        return int(number) if isinstance(param, Int) else number

    def snap(self, points: Floats) -> Floats:
        """Return points moved to where a value is: Int and Choice coordinates rounded as `decode` rounds. n x dim."""
        columns = [param.snap(points[:, j]) for j, param in enumerate(self._active.values())]
        return np.stack(columns, axis=1) if columns else points

    def sample(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw hparams, each uniform on its own scale."""
        return self.nested(
            {name: param.sample(rng) if isinstance(param, _PARAMS) else param for name, param in self.params.items()}
        )

    def flat(self, hparams: Hparams) -> dict[str, Any]:
        """Return hparams with dotted names instead of nesting."""
        return dict(_flatten(hparams, ()))

    def path(self, name: str) -> tuple[str, ...]:
        """Return the keys that lead to a dotted name through nested hparams."""
        return self._paths[name]

    def nested(self, flat: Mapping[str, Any]) -> dict[str, Any]:
        """Return hparams nested as this space is, from dotted names."""
        tree: dict[str, Any] = {}
        for name, value in flat.items():
            *groups, leaf = self._paths[name]
            node = tree
            for group in groups:
                node = node.setdefault(group, {})
            node[leaf] = value
        return tree


SpaceLike = Union[Space, Mapping[str, Any]]
"""A space, or the dict it is made from."""


def as_space(space: SpaceLike) -> Space:
    """Return a Space for a Space or for the dict it is made from."""
    return space if isinstance(space, Space) else Space(space)


def _leaves(params: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in params.items():
        if not isinstance(key, str) or not key or not key.isprintable():
            raise SpaceError(f"names must be printable strings, but got {key!r}")
        here = (*path, key)
        if isinstance(value, Mapping):
            if not value:
                raise SpaceError(f"a group needs at least one hyperparameter, but {'.'.join(here)!r} is empty")
            if isinstance(value.get("type"), str) and value["type"] in ("float", "int", "choice"):
                raise SpaceError(
                    f"{'.'.join(here)!r} has a constant 'type' that a file would read as a parameter's kind"
                )
            yield from _leaves(value, here)
        else:
            yield here, _leaf(".".join(here), value)


def _leaf(name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise SpaceError(f"hyperparameter {name!r} must be finite, but got the constant {value!r}")
    if isinstance(value, _PARAMS) or value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, tuple) and len(value) == 2:
        whole = all(isinstance(bound, (int, np.integer)) and not isinstance(bound, bool) for bound in value)
        try:
            return Int(*value) if whole else Float(*value)
        except SpaceError as error:
            raise type(error)(f"hyperparameter {name!r}: {error}") from None
    raise SpaceError(
        f"hyperparameter {name!r} must be Float, Int, Choice, a (low, high) tuple or a constant, but got {value!r}"
    )


def _flatten(hparams: Hparams, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    if not isinstance(hparams, Mapping):
        raise HparamsError(f"hparams are a dict from names to values, but got {hparams!r}")
    for key, value in hparams.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, (*path, str(key)))
        else:
            yield ".".join((*path, str(key))), value
