"""History: every report as columns, 10⁵ rows in a few megabytes."""

import importlib
import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from popbandits._errors import OptionError
from popbandits._types import Floats, Ints
from popbandits.space import Space


@dataclass(frozen=True)
class BestRow:
    """The row with the best score so far."""

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
        lower_is_better: whether the best score is the lowest. Never inside the core; in a run whose mode is "min".
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
    lower_is_better: bool = False

    def __len__(self) -> int:
        return len(self.score)

    def first(self, n: int) -> "History":
        """Return the history as it was after n reports."""
        return replace(self, **{name: getattr(self, name)[:n] for name in _COLUMNS})

    def negated(self) -> "History":
        """Return the history with the sign of every score turned, and with it the sense of what is better."""
        lower = not self.lower_is_better
        return replace(self, score=-self.score, improvement=-self.improvement, lower_is_better=lower)

    def upward(self) -> "History":
        """Return the history with scores of which the higher is the better, whatever it is here."""
        return self.negated() if self.lower_is_better else self

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

    def best(self) -> BestRow | None:
        """Return the row with the best finite score; None when no score is finite.

        Of equals it is the one of the earliest interval and then the lowest agent, whoever reported first.
        """
        upward = self.upward().score
        finite = np.where(np.isfinite(upward), upward, -np.inf)
        if len(finite) == 0 or finite.max() == -np.inf:
            return None
        equals = np.flatnonzero(finite == finite.max())
        row = int(equals[np.lexsort((self.agent[equals], self.interval[equals]))[0]])
        score, error = float(self.score[row]), float(self.score_error[row])
        known = None if math.isnan(error) else error
        return BestRow(int(self.agent[row]), int(self.interval[row]), score, self.hparams(row), known)


_COLUMNS = tuple(part.name for part in fields(History) if part.name not in ("space", "lower_is_better"))


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
        for name in _COLUMNS:
            shape = (room, space.dim) if name in {"points", "values"} else (room,)
            self._columns[name] = np.empty(shape, dtype=np.int64 if name in whole else np.float64)

    def append(self, row: tuple[Any, ...]) -> None:
        """Add one row: the columns of `History` in their order, but for the space."""
        self._new.append(row)
        self.n += 1

    def view(self) -> History:
        """Return the rows so far: views without a copy, which later rows do not change."""
        self._move()
        columns: dict[str, Any] = {}
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
