"""The command's parts, put together."""

import typer

from popbandits.cli._bench import bench
from popbandits.cli._data import data
from popbandits.cli._init import making
from popbandits.cli._paper import paper
from popbandits.cli._report import reports
from popbandits.cli._showing import showing
from popbandits.cli._training import training

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Train a population of models once and learn the schedule of their hyperparameters.",
    epilog="--debug, anywhere, shows the traceback of an error.",
)
for part in (training, showing, reports, data, making):
    app.registered_commands += part.registered_commands
app.add_typer(bench, name="bench")
app.add_typer(paper, name="paper")
