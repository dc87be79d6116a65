"""Target: where the user's trainable is found, so that another process can make it."""

import base64
import functools
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from popbandits._code import attribute, imported, locate, parse
from popbandits._errors import TrainableError
from popbandits.run._functional import Functional
from popbandits.run._trainable import Factory, check_factory


@dataclass(frozen=True)
class Target:
    """Where the user's code is found.

    Code that cannot be imported, because it was written in a notebook or inside a function, is held itself. It is sent
    to workers, but never kept on the disk: there, only its name is.

    Args:
        module: a module's name, or the path of a file; empty for code that cannot be imported.
        names: the class; or the functions of a `functional` trainable.
        held: the class or function itself, where it cannot be imported.
    """

    module: str
    names: tuple[str, ...]
    held: Factory | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.module}:{'+'.join(self.names)}" if self.module else "+".join(self.names)

    @staticmethod
    def parse(text: str) -> "Target":
        """Return the target of `module:Class` or `file.py:Class`.

        Raises:
            TrainableError: when the text has another form.
        """
        found = parse(text)
        if found is None:
            raise TrainableError(f"a trainable is given as module:Class or file.py:Class, but got {text!r}")
        return Target(found[0], tuple(found[1].split("+")))

    @staticmethod
    def of(factory: Any, config: Mapping[str, Any] | None = None) -> "Target":
        """Return where a class, a function or a `functional` trainable is found.

        Args:
            factory: what makes a trainable from a seed.
            config: the settings that it is made with, beside the seed; None when they are not known yet.

        Raises:
            TrainableError: when it is no trainable, or cannot be made with these settings.
        """
        _check(factory, config)
        parts = factory.functions if isinstance(factory, Functional) else (factory,)
        try:
            modules, names = zip(*(locate(part, TrainableError) for part in parts), strict=True)
        except TrainableError:
            return Target("", tuple(_name(part) for part in parts), factory)
        found = (attribute(module, name, TrainableError) for module, name in zip(modules, names, strict=True))
        if len(set(modules)) > 1 or any(there is not part for there, part in zip(found, parts, strict=True)):
            return Target("", names, factory)
        target = Target(modules[0], names)
        target.load(config)
        return target

    def load(self, config: Mapping[str, Any] | None = None) -> Factory:
        """Import the user's code, unless it is held.

        Args:
            config: the settings that it will be made with, beside the seed; None when they are not known yet.

        Raises:
            TrainableError: when it cannot be found or imported, lacks a method, or cannot be made with these settings.
        """
        factory = self.held if self.held is not None else self._imported()
        _check(factory, config)
        return factory

    def sent(self) -> str | None:
        """Return code that cannot be imported as text for a worker; None where a worker imports it.

        Raises:
            TrainableError: when it holds something that no other process can have.
        """
        if self.held is None:
            return None
        try:
            return base64.b64encode(importlib.import_module("cloudpickle").dumps(self.held)).decode()
        except Exception as error:
            raise TrainableError(
                f"{self} cannot be sent to a worker: {type(error).__name__}: {error}; "
                "make what it needs inside it, or train with executor=Inline()"
            ) from None

    def received(self, code: str | None) -> "Target":
        """Return the target as a worker has it, with the code that was sent."""
        if code is None:
            return self
        try:
            held = importlib.import_module("cloudpickle").loads(base64.b64decode(code))
        except Exception as error:
            raise TrainableError(f"a worker cannot make {self}: {type(error).__name__}: {error}") from error
        return Target(self.module, self.names, held)

    def _imported(self) -> Factory:
        if not self.module:
            raise TrainableError(
                f"{self} cannot be imported: it was written in a notebook, a shell or a function, or made by a call. "
                "Such code is not kept with a run; give it again with trainable=… (--target)"
            )
        parts = []
        for name in self.names:
            part = attribute(self.module, name, TrainableError)
            if part is None:
                raise TrainableError(f"{self.module} has no {name!r}; it has {self._classes()}")
            parts.append(part)
        return Functional(*parts) if len(parts) > 1 else parts[0]

    def _classes(self) -> str:
        module = imported(self.module, TrainableError)
        own = [name for name, value in vars(module).items() if callable(getattr(value, "step", None))]
        return ", ".join(own) or "no class with a step method"


def _check(factory: Any, config: Mapping[str, Any] | None) -> None:
    check_factory(factory.init if isinstance(factory, Functional) else factory, config)


def _name(part: Any) -> str:
    """Return a name for code that has none of its own: the class that a partial makes, or "function" for a lambda."""
    while isinstance(part, functools.partial):
        part = part.func
    name = str(getattr(part, "__name__", "function"))
    return name if name.isidentifier() else "function"
