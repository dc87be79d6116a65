"""Running a cell of an experiment, and the small JSON file that is left of it."""

import importlib.metadata
import importlib.util
import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from popbandits._errors import OptionError, RunError, TrainableError
from popbandits._random import generator
from popbandits.paper._cells import Cell
from popbandits.paper._experiments import EXPERIMENTS, METHODS, REVISIONS
from popbandits.run import Callback, Executor, Run, load, resume, start
from popbandits.strategies import restore_strategy
from popbandits.workloads import Judgement

_PACKAGES = ("popbandits", "numpy", "scipy", "jax", "optax", "envpool")


@dataclass(frozen=True)
class Result:
    """What is kept of a run.

    Args:
        cell: which.
        best: the paper's measure, the best that any agent reported at any time.
        curve: the same after each interval's worth of reports.
        judged: the weights that reported the best score, judged by what chose nothing: 100 new episodes and the mean
            action, or the test images. None in results that were made before there was such a judgement, and for
            weights that could not act any more.
        judged_error: its standard error.
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
    judged: float | None = None
    judged_error: float | None = None

    @property
    def current(self) -> bool:
        """Whether it was made by the trainer and the method, with its options, as they are now."""
        made_by = {name: self.versions.get(name, "1") for name in ("trainer", "method")}
        try:
            strategy = restore_strategy(self.settings["strategy"])
        except OptionError:  # one that we do not have, or no longer
            return False
        return made_by == _revisions(self.cell) and strategy == self.cell.strategy()


def of_today(found: list[Result]) -> list[Result]:
    """Return those that are current, or all when none is: results of two trainers belong in no median together."""
    return [result for result in found if result.current] or found


def run_cell(
    cell: Cell, executor: Executor, *, runs: Path, results: Path, callbacks: Sequence[Callback] = ()
) -> Result:
    """Train a cell, or go on with it, and write its result; a cell that has a current one is read, not run.

    Args:
        cell: which.
        executor: where agents are trained.
        runs: the folder of run folders; the cell's is removed when its result is written.
        results: the folder of results.
        callbacks: told what happens while it trains.

    Raises:
        RunError: when the result could not be written, before anything is trained.
    """
    file = cell.result_file(results)
    if is_done(cell, results):
        return _read(file)
    try:  # before anything is trained for it
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_suffix(".new")
        beside.touch()
        beside.unlink()
    except OSError as error:
        raise RunError(f"no result can be written to {file.parent} ({error.strerror}); name another folder") from None
    folder = run_folder(cell, runs)
    settings = cell.settings()
    begun = (folder / "run.sqlite").exists()
    if begun and load(folder).settings != settings:
        shutil.rmtree(folder)
        begun = False
    if begun:
        run = resume(folder, executor=executor, callbacks=callbacks)
    else:
        run = start(settings, executor, folder, callbacks)
    result = _result(cell, run, judge(run))
    beside.write_text(json.dumps(asdict(result), indent=1) + "\n")
    beside.replace(file)
    shutil.rmtree(folder)
    return _read(file)


def is_done(cell: Cell, results: Path) -> bool:
    """Return whether a cell has a result that the trainer and the method of today have made."""
    file = cell.result_file(results)
    return file.exists() and _read(file).current


def run_folder(cell: Cell, runs: Path) -> Path:
    """Return the folder of a cell's run: a run that an earlier trainer or method began is not finished by another's."""
    revisions = "-".join(f"{name}{revision}" for name, revision in _revisions(cell).items())
    return runs / cell.experiment / f"{cell.name}-{revisions}"


def read_results(results: Path) -> list[Result]:
    """Return every result of the experiments in a folder; what else it holds is not ours."""
    files = sorted(file for name in EXPERIMENTS for file in (results / name).glob("*.json"))
    return [_read(file) for file in files]


def judge(run: Run) -> Judgement | None:
    """Return what the weights of a run's best report are worth on episodes or images that chose nothing.

    None when they cannot act any more: the last update of the interval was one too many.

    Raises:
        RunError: when their checkpoint is gone.
    """
    if run.best.checkpoint is None:
        raise RunError(
            f"the checkpoint of the best report of {run.directory} is gone; remove that folder to begin anew"
        )
    agent: Any = run.settings.target.load()(run.settings.seed)
    agent.load(run.best.checkpoint)
    try:
        judged: Judgement = agent.judge(int(generator(run.settings.seed, "judge").integers(2**31)))
    except TrainableError:
        return None
    return judged


def _result(cell: Cell, run: Run, judged: Judgement | None) -> Result:
    measure = EXPERIMENTS[cell.experiment].measure
    scores = np.array([entry.metrics.get(measure, np.nan) for entry in run.reports])
    so_far = np.fmax.accumulate(scores)
    curve = tuple(float(so_far[i]) for i in range(cell.population - 1, len(so_far), cell.population))
    times = [entry.time for entry in run.entries]
    gaps = np.diff(times)
    # A gap longer than an interval may take is one between two sittings.
    sitting = max(600.0, cell.interval / EXPERIMENTS[cell.experiment].slowest)
    trained = [entry.metrics.get("steps", np.nan) for entry in run.reports]
    return Result(
        cell,
        float(np.nanmax(scores)),
        curve,
        len(run.reports),
        round(_steps(run, trained)),
        round(float(gaps[gaps < sitting].sum()), 1),
        run.settings.to_json(),
        {name: importlib.metadata.version(name) for name in _PACKAGES if importlib.util.find_spec(name)}
        | _revisions(cell)
        | {"date": time.strftime("%Y-%m-%d")},
        None if judged is None else round(judged.score, 3),
        None if judged is None else round(judged.error, 3),
    )


def _revisions(cell: Cell) -> dict[str, str]:
    """Return what tells results apart that settings do not: the revisions of the cell's trainer and of its method."""
    return {"trainer": str(EXPERIMENTS[cell.experiment].trainer), "method": str(REVISIONS.get(cell.method, 1))}


def _steps(run: Run, trained: list[float]) -> float:
    """Return the environment steps of all intervals: what each report has more than the one it began with."""
    before = run.history.before.tolist()
    total = 0.0
    for row in np.flatnonzero(np.isfinite(trained)):
        began = before[row]
        while began >= 0 and np.isnan(trained[began]):  # an interval that failed counted nothing
            began = before[began]
        total += trained[row] - (trained[began] if began >= 0 else 0.0)
    return total


def _read(file: Path) -> Result:
    try:
        body = json.loads(file.read_text())
        cell = Cell(**body.pop("cell"))
        if cell.method not in METHODS or cell.result_file(file.parent.parent) != file:
            raise ValueError
        return Result(cell, curve=tuple(body.pop("curve")), **body)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RunError(f"{file} is not a result of `popbandits paper run`; remove it, or name another folder") from None
