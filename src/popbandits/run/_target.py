"""Target: where the user's trainable is found, so that another process can import it."""

from dataclasses import dataclass
from typing import Any

from popbandits._code import attribute, imported, locate, parse
from popbandits._errors import TrainableError
from popbandits.run._functional import Functional
from popbandits.run._trainable import Factory, check_methods


@dataclass(frozen=True)
class Target:
    """Where the user's code is found.

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
        found = parse(text)
        if found is None:
            raise TrainableError(f"a trainable is given as module:Class or file.py:Class, but got {text!r}")
        return Target(found[0], tuple(found[1].split("+")))

    @staticmethod
    def of(factory: Any) -> "Target":
        """Return where a class or a `functional` trainable can be imported from.

        Raises:
            TrainableError: when it cannot: defined in a function, or typed into a shell.
        """
        if not isinstance(factory, Functional):
            check_methods(factory)
        parts = factory.functions if isinstance(factory, Functional) else (factory,)
        modules, names = zip(*(locate(part, TrainableError) for part in parts), strict=True)
        if len(set(modules)) > 1:
            apart = next(module for module in modules if module != modules[0])
            raise TrainableError(f"the functions must be in one module, but got {modules[0]} and {apart}")
        target = Target(modules[0], names)
        target.load()
        return target

    def load(self) -> Factory:
        """Import the user's code.

        Raises:
            TrainableError: when it cannot be found or imported, or lacks a method.
        """
        parts = []
        for name in self.names:
            part = attribute(self.module, name, TrainableError)
            if part is None:
                raise TrainableError(f"{self.module} has no {name!r}; it has {self._classes()}")
            parts.append(part)
        if len(parts) > 1:
            return Functional(*parts)
        factory: Factory = parts[0]
        if not isinstance(factory, Functional):
            check_methods(factory)
        return factory

    def _classes(self) -> str:
        module = imported(self.module, TrainableError)
        own = [name for name, value in vars(module).items() if callable(getattr(value, "step", None))]
        return ", ".join(own) or "no class with a step method"
