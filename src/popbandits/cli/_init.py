"""init: a trainable to fill in, in a file of the user's own."""

import importlib.util
import keyword
import shlex
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from popbandits._errors import OptionError

making = typer.Typer()

_FRAMEWORKS = ("plain", "torch", "jax")


@making.command()
def init(
    file: Annotated[Path, typer.Argument(help="The file to write.")] = Path("model.py"),
    framework: Annotated[str, typer.Option("--with", help="plain, torch or jax.")] = "plain",
) -> None:
    """Write a trainable to fill in.

    Example: popbandits init my_model.py --with torch
    """
    if framework not in _FRAMEWORKS:
        raise OptionError(f"a trainable is written with one of {', '.join(_FRAMEWORKS)}, but got {framework!r}")
    if file.suffix != ".py" or not file.stem.isidentifier():
        raise OptionError(f"the file must be a Python module such as my_model.py, but got {str(file)!r}")
    if keyword.iskeyword(file.stem) or (not file.exists() and importlib.util.find_spec(file.stem) is not None):
        raise OptionError(f"{str(file)!r} would stand in the way of Python's or a package's {file.stem}; name another")
    template = resources.files("popbandits.cli").joinpath("templates", f"{framework}.py.txt")
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(template.read_text(encoding="utf-8").replace("{file}", str(file)))
    except FileExistsError:
        raise OptionError(f"{file} exists already, and is left as it is; name another file") from None
    except OSError as error:
        raise OptionError(f"{file} cannot be written: {error.strerror}") from None
    print(f"{file} is written; fill in the parts marked with TODO, then:")
    print(f"popbandits check {shlex.quote(f'{file}:Model')}")
