"""What is kept of a cell of the bench of real training: a number for each seed, and with what they were made."""

import hashlib
import importlib
import inspect
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._ceilings import LEARNERS, has_ceiling, read_ceiling
from benchmarks._files import write_whole
from benchmarks._lockstep import Judged
from benchmarks._real_tasks import CEILINGS, CORNER, STRATEGIES, TASKS
from benchmarks._statistics import interquartile_mean
from popbandits._types import Floats
from popbandits.paper import REVISIONS

FOLDER = Path("results/real")


@dataclass(frozen=True)
class RealCell:
    """One method on one task.

    Args:
        task, method, size: which.
        revision: of the learners and of the method; results of another are not mixed with these.
        judged, judged_error: for each seed from 0 on, what the chosen weights are worth, and the error of that.
        curve: for each seed the highest score reported in each interval.
        seconds: that it took in all.
    """

    task: str
    method: str
    size: int
    revision: str
    judged: tuple[float, ...] = ()
    judged_error: tuple[float, ...] = ()
    curve: tuple[tuple[float, ...], ...] = ()
    seconds: float = 0.0

    @property
    def values(self) -> Floats:
        """What each seed is worth; weights that diverged are worse than any others."""
        found = np.array(self.judged, dtype=float)
        return np.where(np.isfinite(found), found, -np.inf)

    def extended(self, outcomes: list[Judged], seconds: float) -> "RealCell":
        """Return the cell with more seeds."""
        return replace(
            self,
            judged=(*self.judged, *(round(outcome.judged, 4) for outcome in outcomes)),
            judged_error=(*self.judged_error, *(round(outcome.judged_error, 4) for outcome in outcomes)),
            curve=(*self.curve, *(tuple(round(s, 3) for s in outcome.curve) for outcome in outcomes)),
            seconds=round(self.seconds + seconds, 1),
        )

    def summary(self) -> str:
        """Return the interquartile mean, the number of seeds and the time."""
        return f"{interquartile_mean(self.values):.4g}, {len(self.judged)} seeds, {self.seconds:.0f} s"


def revision_of(task: str, method: str) -> str:
    """Return what tells results apart that settings do not: the learner, its data, and the method."""
    parts: list[Any] = [LEARNERS[task]]
    if method in STRATEGIES:
        parts.append(REVISIONS.get("pb2" if method == "dice" else method, 1))
    elif method == CORNER:
        parts += [REVISIONS.get("pbt", 1), _digest(repr(TASKS[task].corner))]
    elif method in CEILINGS:
        parts.append(_digest(repr(read_ceiling(task))) if has_ceiling(task) else "unknown")
    else:  # a strategy of somebody's own, which may change at any time
        parts.append(_digest(inspect.getsource(importlib.import_module(method.partition(":")[0]))))
    if task == "text":
        parts.append(importlib.import_module(TASKS[task].module).fingerprint())
    return "-".join(map(str, parts))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def file_of(task: str, method: str, size: int) -> Path:
    """Return where a cell is kept."""
    return FOLDER / f"{task}-B{size}-{method.replace(':', '.')}.json"


def read_cell(task: str, method: str, size: int) -> RealCell:
    """Return a cell, empty when there is none or it was made by an earlier revision."""
    fresh = RealCell(task, method, size, revision_of(task, method))
    file = file_of(task, method, size)
    if not file.exists():
        return fresh
    body = json.loads(file.read_text())
    if body["revision"] != fresh.revision:
        return fresh
    body["curve"] = tuple(map(tuple, body["curve"]))
    return RealCell(**body | {name: tuple(body[name]) for name in ("judged", "judged_error")})


def write_cell(cell: RealCell) -> None:
    """Keep a cell; whoever is killed while it writes leaves the one before."""
    write_whole(file_of(cell.task, cell.method, cell.size), json.dumps(asdict(cell)))
