"""Trainable: the user's code. Any class with these three methods is one; `functional` makes one of pure functions."""

import functools
import importlib
import importlib.util
import inspect
import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from popbandits._errors import PopbanditsError, TrainableError
from popbandits._types import Hparams
from popbandits.population import checked_error


class Trainable(Protocol):
    """A model that can be trained for an interval, saved and loaded.

    It may also have two methods more. `reseed(self, seed)` is called after another agent's checkpoint was loaded, so
    that the copy draws other random numbers than its donor. What `hparams_in_effect(self) -> dict` returns after a step
    is compared with what was asked.
    """

    def step(self, hparams: Hparams) -> Any:
        """Train one interval with these hparams; return the score, or a dict of metrics.

        Among the metrics, `score_error` is the standard error of the score, where that is known.
        """

    def save(self, path: Path) -> None:
        """Write everything that training needs to go on into the folder `path`, which exists and is empty."""

    def load(self, path: Path) -> None:
        """Become what was saved in the folder `path`."""


_BY_FILE = "_popbandits_"  # how modules are named that were imported from a file

Factory = Callable[[int], Trainable]
"""Makes a trainable with fresh weights from a seed: a class, or what `functional` returns."""


@dataclass(frozen=True)
class Target:
    """Where the user's code is found, so that another process can import it.

    Args:
        module: a module's name, or the path of a file.
        names: the class; or the functions of a `functional` trainable.
    """

    module: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.module}:{'+'.join(self.names)}"

    @staticmethod
    def parse(text: str) -> "Target":
        """Return the target of `module:Class` or `file.py:Class`.

        Raises:
            TrainableError: when the text has another form.
        """
        module, colon, name = text.rpartition(":")
        if not colon or not module or not name:
            raise TrainableError(f"a trainable is given as module:Class or file.py:Class, but got {text!r}")
        return Target(str(Path(module).resolve()) if module.endswith(".py") else module, tuple(name.split("+")))

    @staticmethod
    def of(factory: Any) -> "Target":
        """Return where a class or a `functional` trainable can be imported from.

        Raises:
            TrainableError: when it cannot: defined in a function, or typed into a shell.
        """
        parts = factory.functions if isinstance(factory, Functional) else (factory,)
        modules, names = [], []
        for part in parts:
            module, name = getattr(part, "__module__", None), getattr(part, "__qualname__", None)
            if module is None or name is None:
                raise TrainableError(f"a trainable is a class, but got {factory!r}; pass the class, not an instance")
            if "<" in name:
                raise TrainableError(
                    f"a worker cannot import {name!r}: it is defined inside a function; move it to the top of a module"
                )
            modules.append(_findable(module, name))
            names.append(_bound_name(module, name, part))
        if len(set(modules)) > 1:
            apart = next(module for module in modules if module != modules[0])
            raise TrainableError(f"the functions must be in one module, but got {modules[0]} and {apart}")
        target = Target(modules[0], tuple(names))
        target.load()
        return target

    def load(self) -> Factory:
        """Import the user's code.

        Raises:
            TrainableError: when it cannot be found or imported, or lacks a method.
        """
        module = _import(self.module)
        parts = []
        for name in self.names:
            part: Any = module
            for piece in name.split("."):
                if not hasattr(part, piece):
                    raise TrainableError(f"{self.module} has no {name!r}; it has {_classes(module)}")
                part = getattr(part, piece)
            parts.append(part)
        if len(parts) > 1:
            return Functional(*parts)
        factory: Factory = parts[0]
        if not isinstance(factory, Functional):
            check_methods(factory)
        return factory


def check_methods(factory: Any) -> None:
    """Refuse a class that lacks a method of a trainable."""
    if not isinstance(factory, type):
        hint = "pass the class, not an instance"
        if inspect.isfunction(factory):
            hint = "popbandits.functional(init, step) makes one of two functions"
        elif isinstance(factory, functools.partial):
            hint = "give it its settings in a subclass, as attributes"
        raise TrainableError(f"a trainable is a class, but got {factory!r}; {hint}")
    for method in ("step", "save", "load"):
        if not callable(getattr(factory, method, None)):
            raise TrainableError(f"a trainable has step, save and load, but {factory.__name__} has no {method}")
    try:
        inspect.signature(factory).bind(0)
    except TypeError:
        raise TrainableError(f"a trainable is made with a seed, but {factory.__name__}(0) cannot be called") from None
    except ValueError:
        pass  # made in C: it says nothing of its arguments


def scored(result: Any, metric: str) -> tuple[float, dict[str, float]]:
    """Return the score and all metrics of what a step returned.

    Raises:
        TrainableError: when the metric is missing or not a number.
        ScoreError: when `score_error` is negative, nan or infinite.
    """
    metrics = result if isinstance(result, Mapping) else {metric: result}
    if metric not in metrics:
        others = ", ".join(map(repr, metrics))
        raise TrainableError(
            f"step returned no {metric!r}, but {others or 'an empty dict'}; "
            f"return {metric!r} too, or choose another metric when a run begins"
        )
    numbers: dict[str, float] = {}
    for key, value in metrics.items():
        if key == "score_error" and value is None:
            continue  # not known
        try:
            if isinstance(value, (str, bytes, bool)) or getattr(value, "shape", ()) != ():
                raise TypeError
            numbers[str(key)] = float(value)
        except (TypeError, ValueError):
            raise TrainableError(f"the metric {key!r} must be a number, but step returned {value!r}") from None
    checked_error(metrics.get("score_error"), numbers[metric], "an interval")
    return numbers[metric], numbers


def check_in_effect(trainable: Any, hparams: Hparams) -> None:
    """Refuse a trainable that says it trained with other hparams than it was given."""
    tell = getattr(trainable, "hparams_in_effect", None)
    if tell is None:
        return
    actual = tell()
    for name, value in hparams.items():
        if name in actual and not equal(actual[name], value):
            raise TrainableError(
                f"hyperparameter {name!r} was set to {value!r}, but {actual[name]!r} is in effect; "
                "does load() or step() overwrite it?"
            )


def equal(a: Any, b: Any) -> bool:
    """Return whether two values of a hyperparameter are the same, but for the rounding of a float."""
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-6)
    except (TypeError, ValueError):
        return bool(a == b)


@dataclass(frozen=True)
class Functional:
    """A trainable of pure functions; call it with a seed. See `functional`."""

    init: Callable[[int], Any]
    train: Callable[[Any, Hparams], tuple[Any, Any]]
    reseeded: Callable[[Any, int], Any] | None = None

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Those that were given."""
        return (self.init, self.train) if self.reseeded is None else (self.init, self.train, self.reseeded)

    def __call__(self, seed: int) -> Trainable:
        state = self.init(seed)
        if self.reseeded is None:
            return _Functional(state, self.train)
        return _Reseeded(state, self.train, self.reseeded)


def functional(
    init: Callable[[int], Any],
    step: Callable[[Any, Hparams], tuple[Any, Any]],
    reseed: Callable[[Any, int], Any] | None = None,
) -> Functional:
    """Return a trainable of pure functions over a tree of arrays: dicts, lists and tuples of arrays and numbers.

    Args:
        init: from a seed to the state.
        step: from the state and the hparams to the next state and the score (or a dict of metrics).
        reseed: from the state and a seed to the state with other random numbers to come. Give it when the state holds a
            random key: without it an agent that copies another draws the same numbers as its donor.

    Examples:
        >>> def init(seed): return {"w": np.array(3.0)}
        >>> def step(state, hparams): return {"w": state["w"] * (1 - hparams["lr"])}, -float(state["w"] ** 2)
        >>> functional(init, step)(0).step({"lr": 0.5})
        -9.0
    """
    return Functional(init, step, reseed)


class _Functional:
    """The state of a `functional` trainable; saved as one .npz and the tree as JSON, never as a pickle."""

    def __init__(self, state: Any, train: Callable[[Any, Hparams], tuple[Any, Any]]) -> None:
        self.state, self.train = state, train

    def step(self, hparams: Hparams) -> Any:
        self.state, result = self.train(self.state, hparams)
        return result

    def save(self, path: Path) -> None:
        leaves: list[np.ndarray[Any, Any]] = []
        tree = _tree(self.state, leaves)
        np.savez(path / "leaves.npz", **{str(i): leaf for i, leaf in enumerate(leaves)})  # type: ignore[arg-type]
        (path / "tree.json").write_text(json.dumps(tree))

    def load(self, path: Path) -> None:
        with np.load(path / "leaves.npz", allow_pickle=False) as leaves:
            # The state at hand tells what the saved one must be like: which tuples have names, which arrays are JAX's.
            self.state = _untree(json.loads((path / "tree.json").read_text()), leaves, self.state)


class _Reseeded(_Functional):
    """A `functional` trainable whose state holds random numbers to come."""

    def __init__(self, state: Any, train: Any, reseeded: Callable[[Any, int], Any]) -> None:
        super().__init__(state, train)
        self._reseeded = reseeded

    def reseed(self, seed: int) -> None:
        self.state = self._reseeded(self.state, seed)


def _tree(node: Any, leaves: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(node, dict):
        return {"dict": [[key, _tree(child, leaves)] for key, child in node.items()]}
    if isinstance(node, (list, tuple)):
        return {type(node).__name__ if type(node) in (list, tuple) else "tuple": [_tree(c, leaves) for c in node]}
    if node is None or isinstance(node, (str, bool, int, float)):
        return {"value": node}
    try:
        array = np.asarray(node)
    except TypeError:
        array = np.array(None)
    if array.dtype == object:
        raise TrainableError(f"a functional state holds arrays, numbers and strings, but got {type(node).__name__}")
    leaves.append(array)
    return {"leaf": len(leaves) - 1}


def _untree(node: Any, leaves: Mapping[str, Any], like: Any) -> Any:
    ((kind, inner),) = node.items()
    if kind == "dict":
        if not isinstance(like, dict) or {key for key, _ in inner} != set(like):
            raise TrainableError(f"the saved state has the names {[key for key, _ in inner]}, but init makes {like!r}")
        return {key: _untree(child, leaves, like[key]) for key, child in inner}
    if kind in ("list", "tuple"):
        if not isinstance(like, (list, tuple)) or len(like) != len(inner):
            raise TrainableError(f"the saved state has {len(inner)} parts where init makes {like!r}")
        children = [_untree(child, leaves, part) for child, part in zip(inner, like, strict=True)]
        if hasattr(like, "_fields"):
            return type(like)(*children)
        return children if kind == "list" else tuple(children)
    if kind == "value":
        return inner
    array = leaves[str(inner)]
    if array.dtype.kind == "V" and hasattr(like, "dtype"):
        array = array.view(like.dtype)  # numpy's files do not know bfloat16 by name
    if type(like).__module__.startswith("jax"):
        return importlib.import_module("jax.numpy").asarray(array)
    return array


_importing: list[Path] = []


class ImportedEnough(BaseException):
    """Raised by `tune` in a program that is being imported for its classes: they stand above that line."""


def stop_if_imported() -> None:
    """End the import of a program at the line where it would start a run of its own."""
    if _importing:
        raise ImportedEnough


def _findable(module: str, name: str) -> str:
    """Return how another process imports a module: by name, or by file for the program itself."""
    if module != "__main__" and not module.startswith(_BY_FILE):
        return module
    file = getattr(sys.modules[module], "__file__", None)
    if file is None or not Path(file).exists():
        raise TrainableError(f"a worker cannot import {name!r} from a shell or notebook; put it into a file")
    return str(Path(file).resolve())


def _bound_name(module: str, name: str, part: Any) -> str:
    """Return the name that a class has in its module, which is not its own where an adapter has made it.

    Raises:
        TrainableError: when it is bound to none.
    """
    found = vars(sys.modules[module])
    if "(" not in name:
        return name
    own = [key for key, value in found.items() if value is part]
    if not own:
        raise TrainableError(f"a worker cannot import {name}; bind it to a name at the top of a module: Agent = {name}")
    return own[0]


def _import(module: str) -> ModuleType:
    if not module.endswith(".py"):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise TrainableError(f"there is no module {error.name!r} to import {module} with") from None
        except PopbanditsError:
            raise  # says what to do
        except Exception as error:
            raise TrainableError(f"importing {module} failed: {type(error).__name__}: {error}") from error
    path = Path(module)
    if not path.is_file():
        raise TrainableError(f"there is no file {module}")
    main = sys.modules.get("__main__")
    if main is not None and getattr(main, "__file__", None) and Path(str(main.__file__)).resolve() == path.resolve():
        return main
    name = f"{_BY_FILE}{path.stem}"
    if name in sys.modules and Path(str(sys.modules[name].__file__)) == path:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    sys.path.insert(0, str(path.parent))
    _importing.append(path)
    try:
        spec.loader.exec_module(loaded)
    except ImportedEnough:
        pass
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise TrainableError(f"importing {module} failed: {type(error).__name__}: {error}") from error
    finally:
        _importing.pop()
    return loaded


def _classes(module: ModuleType) -> str:
    own = [name for name, value in vars(module).items() if callable(getattr(value, "step", None))]
    return ", ".join(own) or "no class with a step method"
