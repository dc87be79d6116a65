"""Ray's `hyperparam_bounds` as a space: nested dicts of [low, high], or of Float, Int and Choice."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from popbandits._errors import HparamsError, SpaceError
from popbandits._types import Hparams
from popbandits.space import Choice, Float, Int, Space


def space_from_bounds(bounds: Mapping[str, Any], configs: Sequence[Mapping[str, Any]] = ()) -> Space:
    """Return the space of bounds.

    A pair is a Float on a linear scale, as Ray has it; an Int where every config that has it holds a whole number.

    Raises:
        SpaceError: for bounds that are neither a pair nor a parameter, or reversed.
    """
    return Space({name: _param(name, value, [c[name] for c in configs if name in c]) for name, value in bounds.items()})


def _param(name: str, value: Any, given: Sequence[Any]) -> Any:
    if isinstance(value, Mapping):
        return {
            inner: _param(f"{name}.{inner}", bound, [g[inner] for g in given if isinstance(g, Mapping) and inner in g])
            for inner, bound in value.items()
        }
    if isinstance(value, (Float, Int, Choice)):
        return value
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise SpaceError(f"bounds are [low, high], Float, Int or Choice, but {name!r} has {value!r}")
    low, high = value
    whole = given and all(isinstance(g, Integral) and not isinstance(g, bool) for g in given)
    if whole and float(low).is_integer() and float(high).is_integer():
        return Int(int(low), int(high)) if low != high else int(low)
    return Float(float(low), float(high)) if low != high else float(low)


def as_mutations(bounds: Mapping[str, Any]) -> dict[str, Any]:
    """Return bounds in the forms that Ray's own classes know: dicts and lists."""
    shown: dict[str, Any] = {}
    for name, value in bounds.items():
        if isinstance(value, Mapping):
            shown[name] = as_mutations(value)
        elif isinstance(value, Choice):
            shown[name] = list(value.values)
        else:
            shown[name] = [value.low, value.high] if isinstance(value, (Float, Int)) else list(value)
    return shown


def within(config: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """Return the part of a config that the space has, as it is; numbers outside it are taken at its edge."""
    flat = {}
    for name, param in space.params.items():
        value = _found(config, name, space)
        if isinstance(param, (Float, Int)) and not param.low <= value <= param.high:
            value = param.low if value < param.low else param.high
        elif not isinstance(param, (Float, Int, Choice)):
            value = param
        flat[name] = value
    return space.nested(flat)


def _found(config: Mapping[str, Any], name: str, space: Space) -> Any:
    value: Any = config
    for key in space.path(name):
        if not isinstance(value, Mapping) or key not in value:
            raise HparamsError(f"hyperparameter {name!r} is missing in the config; given were {', '.join(config)}")
        value = value[key]
    return value


def searched(config: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """Return the part of a config that the space has, as hparams within it: values outside are taken at its edge.

    Raises:
        HparamsError: when one is missing.
    """
    flat = {}
    for name, param in space.params.items():
        value = _found(config, name, space)
        if isinstance(param, (Float, Int)):
            kind = float if isinstance(param, Float) else round
            value = min(param.high, max(param.low, kind(value)))
        elif not isinstance(param, Choice):
            value = param
        flat[name] = value
    return space.nested(flat)


def merged(config: Mapping[str, Any], hparams: Hparams) -> dict[str, Any]:
    """Return a config with hparams put into it, however deep; the rest is the config's own."""
    out = dict(config)
    for name, value in hparams.items():
        inner = out.get(name)
        both = isinstance(value, Mapping) and isinstance(inner, Mapping)
        out[name] = merged(inner, value) if both and isinstance(inner, Mapping) else value
    return out
