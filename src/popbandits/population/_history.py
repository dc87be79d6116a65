"""History: every report as columns, 10⁵ rows in a few megabytes."""

import importlib
import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from popbandits._errors import OptionError
from popbandits._types import Floats, Ints
from popbandits.space import Space


@dataclass(frozen=True)
class Best:
    """The row with the highest score so far."""

    agent: int
    interval: int
    score: float
    hparams: dict[str, Any]
    score_error: float | None = None
    """The standard error of the score; None where the trainable gave none."""


@dataclass(frozen=True)
class History:
    """n reports in the order they came, as read-only arrays of length n.

    Args:
        space: what the hparams are.
        agent, interval, score: the reports.
        score_error: the standard error of each score; nan where the trainable gave none.
        donor: whose weights the interval began with: the agent's own id, another's, or -1 for fresh ones.
        before: the row that reported the score the interval began with, -1 when there was none.
        age: how many intervals the weights have trained by then, through all donors. In step it is the interval, unless
            the agent began anew.
        improvement: score minus the score before; nan for fresh weights.
        points: the hparams in the unit cube, n x dim.
        values: the hparams as numbers in the user's units (a Choice as its position), n x dim.
    """

    space: Space
    agent: Ints
    interval: Ints
    score: Floats
    score_error: Floats
    donor: Ints
    before: Ints
    age: Ints
    improvement: Floats
    points: Floats
    values: Floats

    def __len__(self) -> int:
        return len(self.score)

    def first(self, n: int) -> "History":
        """Return the history as it was after n reports."""
        columns = {part.name: getattr(self, part.name)[:n] for part in fields(self) if part.name != "space"}
        return History(self.space, **columns)

    def hparams(self, row: int) -> dict[str, Any]:
        """Return the hparams of one row."""
        return self.space.from_values(self.values[row].tolist())

    def columns(self) -> dict[str, Any]:
        """Return columns of length n: what was reported, improvement, donor, and one for each hyperparameter.

        The column `score_error` is there when any report had one.

        Examples:
            >>> HistoryLog(Space({"lr": (0.0, 1.0)})).view().columns()["lr"]
            []
        """
        columns: dict[str, Any] = {name: getattr(self, name) for name in ("agent", "interval", "score")}
        if not np.isnan(self.score_error).all():
            columns["score_error"] = self.score_error
        columns |= {"improvement": self.improvement, "donor": self.donor}
        rows = [self.space.flat(self.hparams(row)) for row in range(len(self))]
        for name in self.space.params:
            # A hyperparameter that is called like a column must not replace it.
            columns[f"hparams.{name}" if name in columns else name] = [row[name] for row in rows]
        return columns

    def to_pandas(self) -> Any:
        """Return the columns as a pandas DataFrame; pandas must be installed."""
        return _imported("pandas").DataFrame(self.columns())

    def to_polars(self) -> Any:
        """Return the columns as a polars DataFrame; polars must be installed."""
        return _imported("polars").DataFrame(self.columns())

    def best(self) -> Best | None:
        """Return the row with the highest finite score; None when no score is finite.

        Of equals it is the one of the earliest interval and then the lowest agent, whoever reported first.
        """
        finite = np.where(np.isfinite(self.score), self.score, -np.inf)
        if len(finite) == 0 or finite.max() == -np.inf:
            return None
        equals = np.flatnonzero(finite == finite.max())
        row = int(equals[np.lexsort((self.agent[equals], self.interval[equals]))[0]])
        score, error = float(self.score[row]), float(self.score_error[row])
        known = None if math.isnan(error) else error
        return Best(int(self.agent[row]), int(self.interval[row]), score, self.hparams(row), known)


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise OptionError(f"{name} is not installed; install it with: pip install {name}") from None


class HistoryLog:
    """A history that grows: rows are kept as they come and moved into arrays, with room to spare, when it is read."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.n = 0
        """The number of rows."""
        self._new: list[tuple[Any, ...]] = []
        room = 64
        whole = {"agent", "interval", "donor", "before", "age"}
        self._columns: dict[str, NDArray[Any]] = {}
        for field in fields(History):
            if field.name != "space":
                shape = (room, space.dim) if field.name in {"points", "values"} else (room,)
                self._columns[field.name] = np.empty(shape, dtype=np.int64 if field.name in whole else np.float64)

    def append(self, row: tuple[Any, ...]) -> None:
        """Add one row: the columns of `History` in their order, but for the space."""
        self._new.append(row)
        self.n += 1

    def view(self) -> History:
        """Return the rows so far: views without a copy, which later rows do not change."""
        self._move()
        columns = {}
        for name, column in self._columns.items():
            columns[name] = column[: self.n]
            columns[name].flags.writeable = False
        return History(self.space, **columns)

    def _move(self) -> None:
        if not self._new:
            return
        old = self.n - len(self._new)
        for values, (name, column) in zip(zip(*self._new, strict=True), self._columns.items(), strict=True):
            room = len(column)
            while room < self.n:
                room *= 2
            if room > len(column):
                grown = np.empty((room, *column.shape[1:]), dtype=column.dtype)
                grown[:old] = column[:old]
                self._columns[name] = grown
            self._columns[name][old : self.n] = values
        self._new = []
