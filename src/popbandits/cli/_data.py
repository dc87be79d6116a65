"""popbandits data: images that some built-in tasks learn from."""

from pathlib import Path
from typing import Annotated

import typer

from popbandits._errors import OptionError
from popbandits.workloads.data import DATA_SETS

data = typer.Typer(no_args_is_help=True)


@data.command("data")
def make_data(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(DATA_SETS)}.")],
    source: Annotated[Path | None, typer.Option("--from", help="A folder that has the files already.")] = None,
) -> None:
    """Fetch images that built-in tasks learn from, check and convert them.

    Example: popbandits data cifar10
    """
    if name not in DATA_SETS:
        raise OptionError(f"a data set is one of {', '.join(DATA_SETS)}, but got {name!r}")
    print(f"{name}: {DATA_SETS[name](source)}")
