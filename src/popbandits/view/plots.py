"""`run.plot.curves()` and the others: the figures as plotly's own objects."""

from typing import Any

from popbandits._errors import OptionError
from popbandits.run import Run
from popbandits.view.figures import FIGURES, finished


class Plots:
    """The figures of a run, each a method: curves, schedules, lineage, search, beliefs, learned, timeline.

    Examples:
        >>> sorted(name for name in dir(Plots(None)) if not name.startswith("_"))[:2]
        ['beliefs', 'curves']
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def __dir__(self) -> list[str]:
        return list(FIGURES)

    def __getattr__(self, name: str) -> Any:
        if name not in FIGURES:
            raise AttributeError(f"there is no figure {name!r}; there are {', '.join(FIGURES)}")
        return lambda: _figure(FIGURES[name](self._run))


def _figure(drawing: dict[str, Any]) -> Any:
    try:
        from plotly.graph_objects import Figure
    except ModuleNotFoundError:
        raise OptionError("figures need plotly; pip install 'popbandits[view]'") from None
    return Figure(finished(drawing))
