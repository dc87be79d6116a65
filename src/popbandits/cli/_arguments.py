"""What is given on the command line, turned into settings."""

import difflib
import json
from pathlib import Path
from typing import Any

from popbandits import workloads
from popbandits._errors import OptionError, SpaceError, TrainableError
from popbandits.population import Strategy
from popbandits.problems.trainables import BUILT_IN
from popbandits.run import Executor, Inline, Processes, Ray, Target
from popbandits.space import Choice, Float, Int, Space, as_space, space_from_json, space_from_toml
from popbandits.strategies import make_strategy


def target_of(text: str) -> Target:
    """Return the target of `module:Class`, `file.py:Class` or a built-in name."""
    if text in BUILT_IN:
        return Target.of(BUILT_IN[text])
    if text in workloads.BUILT_IN:
        module, name = workloads.BUILT_IN[text]
        return Target(module, (name,))
    if ":" not in text:
        known = [*BUILT_IN, *workloads.BUILT_IN]
        close = difflib.get_close_matches(text, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise TrainableError(
            f"a trainable is given as module:Class, file.py:Class, or one of {', '.join(known)}, but got {text!r}{hint}"
        )
    return Target.parse(text)


def space_of(target: Target, file: Path | None, constants: list[str]) -> Space:
    """Return the space of a file, or the one that the trainable has as `space`, with some names made constant."""
    if file is not None:
        try:
            text = file.read_text()
        except OSError as error:
            raise SpaceError(f"the space {file} cannot be read: {error.strerror}") from None
        space = space_from_json(text) if file.suffix == ".json" else space_from_toml(text)
    else:
        own = getattr(target.load(), "space", None)
        if own is None:
            raise SpaceError(f"{target} has no attribute `space`; give one with --space space.toml")
        space = as_space(own)
    flat = dict(space.params)
    for given in constants:
        name, equals, value = given.partition("=")
        if not equals:
            raise OptionError(f"--set takes name=value, but got {given!r}")
        if name not in flat:
            raise OptionError(f"--set: the space has no {name!r}; it has {', '.join(flat)}")
        flat[name] = _constant(name, flat[name], value)
    return Space(space.nested(flat))


def executor_of(name: str, workers: int | None, deadline: float | None) -> Executor:
    """Return the executor of a name."""
    if name == "inline":
        return Inline()
    if name == "processes":
        return Processes(workers=workers, deadline=deadline)
    if name == "ray":
        return Ray(workers=workers, deadline=deadline)
    raise OptionError(f"an executor is one of processes, inline, ray, but got {name!r}")


def strategy_of(name: str, options: list[str]) -> Strategy:
    """Return the strategy of a name, or of `module:Class`, with options given as name=value."""
    given: dict[str, Any] = {}
    for option in options:
        key, equals, text = option.partition("=")
        if not equals:
            raise OptionError(f"--option takes name=value, but got {option!r}")
        given[key] = _value(text)
    return make_strategy(name, **given)


def _value(text: str) -> Any:
    """Return a value that was typed: JSON where it is JSON, else the text itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def _constant(name: str, param: Any, text: str) -> Any:
    value = _value(text)
    if isinstance(param, (Float, Int, Choice)):
        Space({name: param}).encode({name: value})  # refuses what lies outside
    return value
