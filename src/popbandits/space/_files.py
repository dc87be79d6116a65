"""A space as JSON or TOML, and back.

A parameter is a table with a `type` ("float", "int" or "choice"); any other table is a group; any other value is a
constant:

    lr = { type = "float", low = 1e-5, high = 1e-3, log = true }
    gamma = 0.99
    [net]
    activation = { type = "choice", values = ["tanh", "relu"] }
"""

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from popbandits._errors import SpaceError
from popbandits.space._params import Choice, Float, Int
from popbandits.space._space import Space

_TYPES: dict[str, tuple[type, frozenset[str]]] = {
    "float": (Float, frozenset({"low", "high", "log", "logit"})),
    "int": (Int, frozenset({"low", "high", "log"})),
    "choice": (Choice, frozenset({"values"})),
}


def space_to_json(space: Space) -> str:
    """Return the space as a JSON object."""
    return json.dumps(_plain(space.as_dict()), allow_nan=False)


def space_from_json(text: str) -> Space:
    """Return the space written by `space_to_json`, or by hand.

    Raises:
        SpaceError: when the text is not JSON or does not describe a space.
    """
    try:
        tree = json.loads(text)
    except json.JSONDecodeError as error:
        raise SpaceError(f"the space is not valid JSON: {error}") from None
    if not isinstance(tree, dict):
        raise SpaceError(f"a space in JSON is an object, but got {tree!r}")
    return Space(_params(tree, ""))


def space_to_toml(space: Space) -> str:
    """Return the space as TOML.

    Raises:
        SpaceError: when it holds None, which TOML cannot write.
    """
    return "".join(f"{_key(name)} = {_toml(name, value)}\n" for name, value in _plain(space.as_dict()).items())


def space_from_toml(text: str) -> Space:
    """Return the space written by `space_to_toml`, or by hand.

    Raises:
        SpaceError: when the text is not TOML or does not describe a space.
    """
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpaceError(f"the space is not valid TOML: {error}") from None
    return Space(_params(tree, ""))


def _plain(tree: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            out[name] = _plain(value)
        elif isinstance(value, Float):
            out[name] = {"type": "float", "low": value.low, "high": value.high}
            out[name] |= {scale: True for scale in ("log", "logit") if getattr(value, scale)}
        elif isinstance(value, Int):
            out[name] = {"type": "int", "low": value.low, "high": value.high} | ({"log": True} if value.log else {})
        elif isinstance(value, Choice):
            out[name] = {"type": "choice", "values": list(value.values)}
        else:
            out[name] = value
    return out


def _params(tree: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in tree.items():
        full = f"{prefix}{name}"
        if not isinstance(value, dict):
            out[name] = value
        elif value.get("type") in _TYPES:
            out[name] = _param(full, value)
        elif not any(isinstance(inner, dict) for inner in value.values()) and value.keys() & {"low", "high", "values"}:
            raise SpaceError(f"hyperparameter {full!r} needs a type (float, int or choice), but got {value!r}")
        else:
            out[name] = _params(value, f"{full}.")
    return out


def _param(name: str, table: dict[str, Any]) -> Any:
    kind = table["type"]
    make, known = _TYPES[kind]
    given = {key: value for key, value in table.items() if key != "type"}
    if unknown := given.keys() - known:
        raise SpaceError(f"hyperparameter {name!r}: a {kind} has {', '.join(sorted(known))}, but got {min(unknown)!r}")
    required = {"values"} if kind == "choice" else {"low", "high"}
    if missing := required - given.keys():
        raise SpaceError(f"hyperparameter {name!r}: a {kind} needs {min(missing)!r}, but got {table!r}")
    try:
        if kind == "choice":
            if not isinstance(given["values"], list):
                raise SpaceError(f"values must be a list, but got {given['values']!r}")
            return make(*given["values"])
        return make(**given)
    except SpaceError as error:
        raise type(error)(f"hyperparameter {name!r}: {error}") from None


def _toml(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(name, inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(name, inner) for inner in value) + "]"
    if value is None:
        raise SpaceError(f"hyperparameter {name!r} holds None, which TOML cannot write; use JSON")
    return json.dumps(value, ensure_ascii=True)


def _key(name: str) -> str:
    return json.dumps(name, ensure_ascii=True)
