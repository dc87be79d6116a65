"""The user's code: how a class or function is named so that another process finds it, and how it is imported there.

Errors are of the class that the caller asks for: it knows what the code is for.
"""

import ast
import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from popbandits._errors import PopbanditsError

_BY_FILE = "_popbandits_"  # how modules are named that were imported from a file
_importing: list[str] = []


class ImportedEnough(BaseException):
    """Raised by `tune` in a program that is being imported for its classes: they stand above that line."""


def stop_if_imported() -> None:
    """End the import of a program at the line where it would start a run of its own."""
    if _importing:
        raise ImportedEnough


def locate(part: Any, error: type[PopbanditsError], who: str = "a worker") -> tuple[str, str]:
    """Return the module (or the file) and the name under which another process finds a class or function.

    Args:
        part: the class or function.
        error: to raise.
        who: is to import it, for people.

    Raises:
        error: when it cannot: the code is defined inside a function, or was typed into a shell.
    """
    module, name = getattr(part, "__module__", None), getattr(part, "__qualname__", None)
    if module is None or name is None:
        raise error(f"only a class or a function can be imported elsewhere, but got {part!r}")
    if "<" in name:
        raise error(f"{who} cannot import {name!r}: it is defined inside a function; move it to the top of a module")
    where = _findable(module, name, error, who)
    if "(" not in name:
        return where, name
    # An adapter has made it, and its own name says how. The one it is bound to in its module is the one to import.
    bound = [key for key, value in vars(sys.modules[module]).items() if value is part]
    if not bound:
        raise error(f"{who} cannot import {name}; bind it to a name at the top of a module: Agent = {name}")
    return where, bound[0]


def _findable(module: str, name: str, error: type[PopbanditsError], who: str) -> str:
    """Return how another process imports a module: by name, or by file for the program itself."""
    if module != "__main__" and not module.startswith(_BY_FILE):
        return module
    spec = getattr(sys.modules[module], "__spec__", None)
    if (
        module == "__main__"
        and spec is not None
        and not _only_in_the_program(Path(spec.origin), name.partition(".")[0])
    ):
        return str(spec.name)  # python -m package.module: its imports may be relative, so a file would not do
    file = getattr(sys.modules[module], "__file__", None)
    if file is None or not Path(file).exists():
        raise error(f"{who} cannot import {name!r} from a shell or notebook; put it into a file")
    if module == "__main__" and _only_in_the_program(Path(file), name.partition(".")[0]):
        raise error(f'{who} cannot import {name!r}: it is defined below `if __name__ == "__main__"`; move it above')
    return str(Path(file).resolve())


def _only_in_the_program(file: Path, name: str) -> bool:
    """Return whether a name is defined where an import does not come: inside an `if` that asks for `__name__`."""
    try:
        statements = ast.parse(file.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return False  # not Python, although it runs: the import will tell
    guards = [s for s in statements if isinstance(s, ast.If) and "__name__" in _names(s.test)]
    rest = [s for s in statements if s not in guards]
    return any(name in _defined(s) for s in guards) and not any(name in _defined(s) for s in rest)


def _names(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _defined(tree: ast.AST) -> set[str]:
    """Return the names of classes, functions and variables that a statement defines, wherever inside it."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    defined = {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
    return defined | {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def parse(text: str) -> tuple[str, str] | None:
    """Return the module (or the file) and the name of `module:Name` or `file.py:Name`; None for another form."""
    module, colon, name = text.rpartition(":")
    if not colon or not module or not name:
        return None
    return str(Path(module).resolve()) if module.endswith(".py") else module, name


def attribute(module: str, name: str, error: type[PopbanditsError]) -> Any:
    """Return what has this name, dots and all, in a module or file; None where nothing has.

    Raises:
        error: when the module cannot be imported.
    """
    part: Any = imported(module, error)
    for piece in name.split("."):
        part = getattr(part, piece, None)
    return part


def in_memory(module: str) -> bool:
    """Return whether a module or file has been imported by this process, or is the program itself."""
    main = sys.modules.get("__main__")
    if not module.endswith(".py"):
        spec = getattr(main, "__spec__", None)
        return module in sys.modules or (spec is not None and spec.name == module)
    path = Path(module)
    known = (getattr(found, "__file__", None) for found in (main, sys.modules.get(f"{_BY_FILE}{path.stem}")))
    return any(Path(file).resolve() == path for file in known if file)


def imported(module: str, error: type[PopbanditsError]) -> ModuleType:
    """Import a module by its name, or by its file.

    Raises:
        error: when it is not there, or raises.
    """
    main = sys.modules.get("__main__")
    if not module.endswith(".py"):
        spec = getattr(main, "__spec__", None)
        if main is not None and spec is not None and spec.name == module:
            return main
        if module in sys.modules:
            return sys.modules[module]
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError as missing:
            raise error(f"there is no module {missing.name!r} to import {module} with") from None
        except PopbanditsError:
            raise  # says what to do
        except Exception as raised:
            raise error(f"importing {module} failed: {type(raised).__name__}: {raised}") from raised
        if spec is None:
            raise error(f"there is no module {module!r} to import {module} with")
        return _executed(module, spec, error)
    path = Path(module)
    if not path.is_file():
        raise error(f"there is no file {module}")
    if main is not None and getattr(main, "__file__", None) and Path(str(main.__file__)).resolve() == path.resolve():
        return main
    name = f"{_BY_FILE}{path.stem}"
    if name in sys.modules and Path(str(sys.modules[name].__file__)) == path:
        return sys.modules[name]
    sys.path.insert(0, str(path.parent))
    return _executed(module, importlib.util.spec_from_file_location(name, path), error)


def _executed(module: str, spec: ModuleSpec | None, error: type[PopbanditsError]) -> ModuleType:
    """Import what a specification says. A program that starts a run of its own is imported as far as that line."""
    assert spec is not None
    if spec.loader is None:  # a package without a file
        return importlib.import_module(module)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    _importing.append(module)
    try:
        spec.loader.exec_module(loaded)
    except ImportedEnough:
        pass
    except ModuleNotFoundError as missing:
        del sys.modules[spec.name]
        raise error(f"there is no module {missing.name!r} to import {module} with") from None
    except (Exception, SystemExit) as raised:
        del sys.modules[spec.name]
        if isinstance(raised, PopbanditsError):
            raise  # says what to do
        raise error(f"importing {module} failed: {type(raised).__name__}: {raised}") from raised
    finally:
        _importing.pop()
    package, _, child = spec.name.rpartition(".")
    if package:
        setattr(sys.modules[package], child, loaded)
    return loaded
