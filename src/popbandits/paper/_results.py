"""Running a cell of an experiment, and the small JSON file that is left of it."""

import importlib.metadata
import json
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from popbandits.paper._cells import Cell
from popbandits.paper._experiments import EXPERIMENTS
from popbandits.run import Executor, Run, load, resume, start

_PACKAGES = ("popbandits", "numpy", "scipy", "jax", "optax", "envpool")


@dataclass(frozen=True)
class Result:
    """What is kept of a run.

    Args:
        cell: which.
        best: the best score that any agent reported.
        curve: the best score so far after each interval's worth of reports.
        reports, steps: how much was trained in all: intervals, and environment steps or images.
        seconds: how long it took, resumed parts included.
        settings, versions: with what.
    """

    cell: Cell
    best: float
    curve: tuple[float, ...]
    reports: int
    steps: int
    seconds: float
    settings: dict[str, Any]
    versions: dict[str, str]

    @property
    def current(self) -> bool:
        """Whether it was made by the trainer as it is now."""
        return self.versions.get("trainer", "1") == str(EXPERIMENTS[self.cell.experiment].trainer)


def run_cell(cell: Cell, executor: Executor, *, runs: Path, results: Path) -> Result:
    """Train a cell, or go on with it, and write its result; a cell that has one of today's trainer is read, not run.

    Args:
        cell: which.
        executor: where agents are trained.
        runs: the folder of run folders; the cell's is removed when its result is written.
        results: the folder of results.
    """
    file = cell.result_file(results)
    if file.exists() and (found := _read(file)).current:
        return found
    folder = runs / cell.experiment / cell.name
    if (folder / "run.sqlite").exists():
        run = resume(folder, executor=executor)
    else:
        run = start(cell.settings(), executor, folder)
    result = _result(cell, run)
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_suffix(".new")
    beside.write_text(json.dumps(asdict(result), indent=1) + "\n")
    beside.replace(file)
    shutil.rmtree(folder)
    return _read(file)


def read_results(results: Path) -> list[Result]:
    """Return every result of the experiments in a folder; what else it holds is not ours."""
    files = sorted(file for name in EXPERIMENTS for file in (results / name).glob("*.json"))
    return [_read(file) for file in files]


def _result(cell: Cell, run: Run) -> Result:
    reports = [entry for entry in load(run.directory).entries if entry.kind == "report"]
    scores = np.array([entry.score for entry in reports], dtype=float)
    so_far = np.fmax.accumulate(scores)
    curve = tuple(float(so_far[i]) for i in range(cell.population - 1, len(so_far), cell.population))
    times = [entry.time for entry in run.entries]
    gaps = np.diff(times)
    trained = [entry.body["metrics"].get("steps", np.nan) for entry in reports]
    return Result(
        cell,
        float(np.nanmax(scores)),
        curve,
        len(reports),
        round(_steps(run, trained)),
        round(float(gaps[gaps < 600].sum()), 1),  # a longer gap is one between two sittings
        run.settings.to_json(),
        {name: importlib.metadata.version(name) for name in _PACKAGES}
        | {"trainer": str(EXPERIMENTS[cell.experiment].trainer), "date": time.strftime("%Y-%m-%d")},
    )


def _steps(run: Run, trained: list[float]) -> float:
    """Return the environment steps of all intervals: what each report has more than the one it began with."""
    history = run.history
    before = [0.0 if row < 0 else trained[row] for row in history.before.tolist()]
    return float(np.nansum(np.array(trained) - np.array(before)))


def _read(file: Path) -> Result:
    body = json.loads(file.read_text())
    return Result(Cell(**body.pop("cell")), curve=tuple(body.pop("curve")), **body)
