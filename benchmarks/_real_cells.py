"""What is kept of a cell of the bench of real training: a number for each seed, and with what they were made."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks._lockstep import Outcome
from benchmarks._real_tasks import METHODS, TASKS, TRAINERS
from benchmarks._statistics import interquartile_mean
from popbandits._types import Floats
from popbandits.paper._experiments import REVISIONS

FOLDER = Path("results/real")


@dataclass(frozen=True)
class Cell:
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
        """What each seed is worth; weights that diverged count as the worst."""
        found = np.array(self.judged, dtype=float)
        return np.where(np.isfinite(found), found, np.nanmin(found)) if len(found) else found

    def extended(self, outcomes: list[Outcome], seconds: float) -> "Cell":
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


def revision_of(method: str) -> str:
    """Return what tells results apart that were made by different code: dice are PB2's, and change with it."""
    return f"{TRAINERS}-{REVISIONS.get('pb2' if method == 'dice' else method, 1)}"


def file_of(task: str, method: str, size: int) -> Path:
    """Return where a cell is kept."""
    return FOLDER / f"{task}-B{size}-{method.replace(':', '.')}.json"


def read_cell(task: str, method: str, size: int) -> Cell:
    """Return a cell, empty when there is none or it was made by an earlier revision."""
    fresh = Cell(task, method, size, revision_of(method))
    file = file_of(task, method, size)
    if not file.exists():
        return fresh
    body = json.loads(file.read_text())
    if body["revision"] != fresh.revision:
        return fresh
    body["curve"] = tuple(map(tuple, body["curve"]))
    return Cell(**body | {name: tuple(body[name]) for name in ("judged", "judged_error")})


def write_cell(cell: Cell) -> None:
    """Keep a cell; whoever is killed while it writes leaves the one before."""
    file = file_of(cell.task, cell.method, cell.size)
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_suffix(".new")
    beside.write_text(json.dumps(asdict(cell)) + "\n")
    beside.replace(file)


def missing_seeds(task: str, size: int = 4) -> dict[str, int]:
    """Return how many seeds each method lacks."""
    return {name: TASKS[task].seeds - len(read_cell(task, name, size).judged) for name in METHODS}
