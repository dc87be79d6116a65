"""What is given on the command line, turned into settings."""

import difflib
import json
from pathlib import Path
from typing import Any, cast

from popbandits import workloads
from popbandits._errors import OptionError, SpaceError, TrainableError
from popbandits.population import Strategy
from popbandits.problems.trainables import BUILT_IN
from popbandits.run import Executor, Gpus, Inline, Processes, Ray, Target, Vectorised
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
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise SpaceError(f"the space {file} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise SpaceError(f"the space {file} is not text in UTF-8: {error.reason} at byte {error.start}") from None
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


def executor_of(
    name: str, workers: int | None, deadline: float | None, gpus: str | None = None, every: int | None = None
) -> Executor:
    """Return the executor of a name; GPUs are given as a number, `auto`, or ids with commas between them."""
    if every is not None and name != "vectorised":
        raise OptionError(f"--checkpoint-every is for --executor vectorised, but got {name!r}")
    if gpus is not None and name != "processes":
        raise OptionError(f"--gpus is for --executor processes, but got {name!r}")
    if name == "inline":
        return Inline()
    if name == "processes":
        return Processes(workers=workers, deadline=deadline, gpus=_gpus(gpus))
    if name == "ray":
        return Ray(workers=workers, deadline=deadline)
    if name == "vectorised":
        return Vectorised(checkpoint_every=every or 1)
    raise OptionError(f"an executor is one of processes, inline, ray, vectorised, but got {name!r}")


def executor_for_more(
    name: str | None, workers: int | None, deadline: float | None = None, gpus: str | None = None
) -> Executor | None:
    """Return the executor for more of a run; None where the user asks for none, and the run's own kind is right."""
    if name is None and workers is None and deadline is None and gpus is None:
        return None
    return executor_of(name or "processes", workers, deadline, gpus)


def strategy_of(name: str, options: list[str]) -> Strategy:
    """Return the strategy of a name, or of `module:Class`, with options given as name=value."""
    return make_strategy(name, **values_of("--option", options))


def values_of(option: str, given: list[str] | None) -> dict[str, Any]:
    """Return what was given as name=value; values are JSON where they are JSON, else the text itself."""
    values: dict[str, Any] = {}
    for one in given or []:
        name, equals, text = one.partition("=")
        if not equals or not name:
            raise OptionError(f"{option} takes name=value, but got {one!r}")
        if name in values:
            raise OptionError(f"{option} was given {name!r} twice: {values[name]!r} and {text!r}")
        values[name] = _value(text)
    return values


def initial_of(given: list[str] | None) -> tuple[dict[str, Any], ...]:
    """Return hparams that were given as JSON, one text for each agent."""
    found = []
    for text in given or []:
        hparams = _value(text)
        if not isinstance(hparams, dict):
            raise OptionError(f"""--initial takes hparams as JSON, such as '{{"lr": 0.01}}', but got {text!r}""")
        found.append(hparams)
    return tuple(found)


def _gpus(given: str | None) -> Gpus:
    if given is None or given == "auto":
        return cast("Gpus", given)
    if given.isdigit():
        return int(given)
    parts = [part.strip() for part in given.removesuffix(",").split(",")]
    return [int(part) if part.removeprefix("-").isdigit() else part for part in parts]


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
