"""tune, resume, load and replay: the doors of the engine."""

import importlib
import inspect
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from popbandits import _version
from popbandits._code import stop_if_imported
from popbandits._errors import OptionError, RunError, TrainableError
from popbandits._types import Hparams
from popbandits.population import Strategy
from popbandits.run._callback import Callback
from popbandits.run._checkpoints import INITIAL, take_in
from popbandits.run._entries import Entry
from popbandits.run._executor import Executor, check_in_step
from popbandits.run._given import given_weights
from popbandits.run._inline import Inline
from popbandits.run._lock import Lock
from popbandits.run._log import FILE, Log
from popbandits.run._loop import CHECKPOINTS, Controller
from popbandits.run._processes import Processes
from popbandits.run._run import Run
from popbandits.run._settings import Mode, Settings, checked_config
from popbandits.run._signals import Interrupts
from popbandits.run._state import trained_together, written_every
from popbandits.run._target import Target
from popbandits.run._vectorised import Vectorised, mappable
from popbandits.space import Choice, SpaceLike, as_space
from popbandits.strategies import PB2, Elsewhere, FixedSchedule, Former

RUNS = Path("runs")


def tune(
    trainable: Any,
    space: SpaceLike,
    *,
    intervals: int,
    population: int = 8,
    strategy: Strategy | None = None,
    metric: str = "score",
    mode: Mode = "max",
    seed: int = 0,
    executor: Executor | None = None,
    directory: str | Path | None = None,
    sync: bool = True,
    retries: int = 2,
    config: Mapping[str, Any] | None = None,
    initial: Sequence[Hparams] = (),
    checkpoint: str | Path | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
) -> Run:
    """Train a population and learn the schedule of its hyperparameters.

    Args:
        trainable: a class with `step`, `save` and `load`, made with a seed; a function that makes such an object; or
            what `functional` returns. One that cannot be imported, because it was written in a notebook or inside a
            function, is sent to the workers, and `resume` has to be given it again.
        space: what each hyperparameter may be.
        intervals: how many intervals each agent trains.
        population: how many agents.
        strategy: `PB2()` unless you say otherwise.
        metric, mode: which number of those a step returns is the score, and whether "max" or "min" is better.
        seed: of every random choice.
        executor: where agents are trained: `Processes()` unless you say otherwise.
        directory: the run's folder; a new one under `runs/` unless you say otherwise.
        sync: whether agents wait for one another at the end of an interval.
        retries: how often an interval that failed is tried again before the agent is replaced.
        config: settings of your own, as JSON values: the trainable is made with `trainable(seed, **config)`.
        initial: hparams that the first agents start with, such as your best guess; the strategy draws the others.
        checkpoint: a folder with weights that all agents start from, as `save` wrote it: `run.best.checkpoint`, say.
        callbacks: told what happens.
        progress: whether to show how far it is: a table in a terminal or notebook, and lines elsewhere.

    Returns:
        The run, finished.

    Raises:
        TrainableError, SpaceError, OptionError, RunError: before anything is started, when it cannot work.
        KeyboardInterrupt: on Ctrl-C, after everything is written; `resume` goes on.
    """
    stop_if_imported()
    if isinstance(population, int) and population < 1:
        raise OptionError(f"`population >= 1` must hold, but got population={population}")
    own = checked_config({} if config is None else config)
    settings = Settings(
        Target.of(trainable, own),
        as_space(space),
        strategy or PB2(),
        population,
        intervals,
        seed,
        sync,
        metric,
        mode,
        retries,
        own,
        initial,
        checkpoint is not None,
    )
    _check_callbacks(callbacks)
    return start(settings, executor or Processes(), directory, [*_shown(progress), *callbacks], checkpoint)


def start(
    settings: Settings,
    executor: Executor,
    directory: str | Path | None,
    callbacks: Sequence[Callback] = (),
    checkpoint: str | Path | None = None,
) -> Run:
    """Train a new run with these settings, to its end; from the weights in a checkpoint, if one is given."""
    stop_if_imported()
    # All that can be refused is, before a folder is made.
    settings = replace(settings, initial=settings.population().initial)
    settings.target.load(settings.config)
    if not isinstance(executor, Inline | Vectorised):
        settings.target.sent()
    weights = None if checkpoint is None else given_weights(checkpoint)
    kept = settings.to_json() | {"version": _version.__version__}
    _check(executor, callbacks)
    check_in_step(isinstance(executor, Vectorised), settings.sync)
    if isinstance(executor, Vectorised):
        mappable(settings.target, settings.config)
    folder = Path(directory) if directory is not None else _new_folder(settings.target)
    if weights is not None and folder.resolve().is_relative_to(weights.resolve()):
        raise RunError(
            f"the run's folder {folder} lies in the checkpoint {checkpoint}, which would be copied into itself"
        )
    try:
        (folder / CHECKPOINTS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"the folder {folder} cannot be made: {error.strerror}") from None
    with Lock(folder):
        if weights is not None:
            if (folder / FILE).exists():
                raise RunError(f"{folder} holds a run already; resume it, or choose another folder")
            try:
                take_in(weights, folder / CHECKPOINTS, INITIAL)
            except OSError as error:
                raise RunError(f"the checkpoint {checkpoint} cannot be copied: {error}") from None
        log = Log.create(folder, kept)
        return _drive(folder, settings, log, executor, callbacks)


def resume(
    directory: str | Path,
    *,
    intervals: int | None = None,
    trainable: Any = None,
    executor: Executor | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
) -> Run:
    """Go on with a run that was interrupted, as if it had never been; or make a run longer, finished or not.

    Args:
        directory: the run's folder.
        intervals: how many intervals each agent trains in all, when that is more than the run was begun with. What was
            decided so far stays as it is.
        trainable: the user's code, when it is no longer where it was: the class has moved, or the run has.
        executor: where agents are trained: `Vectorised()` if the run was begun with that, else any other; `Processes()`
            unless you say otherwise.
        callbacks: told what happens.
        progress: as for `tune`.

    Raises:
        RunError: when there is no run, another process trains it, or its log is damaged or of another version.
        OptionError: for fewer intervals than the run has.
    """
    stop_if_imported()
    _check(executor or Processes(), callbacks)
    folder = Path(directory)
    Log.open(folder).close()
    with Lock(folder), closing(Log.open(folder, write=True)) as log:
        log.check()
        settings = Settings.from_json(log.settings)
        executor = executor or _as_before(trained_together(log.entries()), log.entries())
        if trainable is not None:
            given = trainable if isinstance(trainable, Target) else Target.of(trainable, settings.config)
            settings = replace(settings, target=given)
        if isinstance(settings.strategy, Elsewhere | Former):
            settings = replace(settings, strategy=settings.strategy.load())
        try:
            settings.target.load(settings.config)
        except TrainableError as error:
            if not settings.target.module:
                raise
            raise TrainableError(f"{error}; if the code has moved, resume with trainable=… (--target)") from None
        return _drive(folder, settings, log, executor, [*_shown(progress), *callbacks], intervals)


def load(directory: str | Path) -> Run:
    """Return the run in a folder, as it stands.

    Raises:
        RunError: when there is none, or its log is damaged or of another version.
    """
    return Run(Path(directory))


def replay(
    run: Run,
    *,
    seeds: int = 4,
    agent: int | str = "best",
    trainable: Any = None,
    executor: Executor | None = None,
    directory: str | Path | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
) -> Run:
    """Train fresh weights under the schedule that a run has learned, to see whether it carries over.

    Args:
        run: the run that learned it.
        seeds: how many models to train, each with a seed of its own.
        agent: whose schedule; "best" for that of the best weights.
        trainable: the user's code, when it cannot be imported from where it was.
        executor: where they are trained; the kind of executor that trained the run, unless you say otherwise.
        directory, callbacks, progress: as for `tune`.

    Returns:
        A run in which every agent followed the schedule.

    Raises:
        RunError: when a Choice would reach the code as another thing than in the run: as a value, or as its position.
    """
    together = trained_together(run.stream())
    executor = executor or _as_before(together, run.stream())
    choices = any(isinstance(param, Choice) for param in run.settings.space.params.values())
    if together is not None and choices and together != bool(getattr(executor, "together", False)):
        was, advice = ("", "without another executor") if together else ("not ", "without executor=Vectorised()")
        raise RunError(
            f"{run.directory} was {was}trained by Vectorised(), which gives code the position of a Choice instead "
            f"of its value; replay it {advice}"
        )
    schedule = run.schedule(agent)
    old = run.settings
    settings = replace(
        old,
        target=old.target if trainable is None else Target.of(trainable, old.config),
        strategy=FixedSchedule(schedule=schedule),
        size=seeds,
        intervals=len(schedule),
        seed=old.seed + 1,
        sync=True,
        initial=(),
    )
    warm = run.directory / CHECKPOINTS / INITIAL if old.warm else None
    _check_callbacks(callbacks)
    return start(settings, executor, directory, [*_shown(progress), *callbacks], warm)


def _as_before(together: bool | None, entries: Iterator[Entry]) -> Executor:
    """Return the executor for more of a run, when the user names none."""
    return Vectorised(checkpoint_every=written_every(entries)) if together else Processes()


def _drive(
    folder: Path,
    settings: Settings,
    log: Log,
    executor: Executor,
    callbacks: Sequence[Callback],
    intervals: int | None = None,
) -> Run:
    interrupts = Interrupts()
    try:
        with interrupts:
            controller = Controller(folder, settings, log, callbacks)
            if intervals is not None:
                controller.extend(intervals)
            for callback in callbacks:
                _tell(callback.on_start, Run(folder))
            controller.run(executor, interrupts)
    finally:
        log.close()
        run = Run(folder)
        for callback in callbacks:
            _tell(callback.on_end, run)
    if interrupts.asked == signal.SIGINT:
        raise KeyboardInterrupt(f"everything is written; resume({str(folder)!r}) goes on")
    if interrupts.asked is not None:
        raise SystemExit(128 + interrupts.asked)
    return run


def _check(executor: Any, callbacks: Any) -> None:
    """Refuse what is no executor, or no callbacks."""
    if inspect.isclass(executor) or not callable(getattr(executor, "open", None)):
        raise OptionError(f"executor must be Processes(), Inline(), Ray() or Vectorised(), but got {executor!r}")
    _check_callbacks(callbacks)


def _check_callbacks(callbacks: Any) -> None:
    if not isinstance(callbacks, Sequence):
        raise OptionError(f"callbacks must be a list, but got {callbacks!r}")
    for callback in callbacks:
        if inspect.isclass(callback) or not callable(getattr(callback, "on_entry", None)):
            raise OptionError(f"callbacks must be objects of a class like Callback, but got {callback!r}")


def _shown(progress: bool) -> list[Callback]:
    if not progress:
        return []
    # By name: the engine must not depend on what shows it.
    shown: list[Callback] = importlib.import_module("popbandits.view.progress").shown()
    return shown


def _tell(hear: Callable[[Run], None], run: Run) -> None:
    """Tell a callback; one that raises is warned about and cannot stop a run."""
    try:
        hear(run)
    except Exception as error:
        warnings.warn(f"a callback raised {type(error).__name__}: {error}", stacklevel=2)


def _new_folder(target: Target) -> Path:
    stem = f"{target.names[0]}-{time.strftime('%Y%m%d-%H%M%S')}"
    for number in range(1, 1000):
        folder = RUNS / (stem if number == 1 else f"{stem}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise RunError(f"the folder {folder} cannot be made: {error.strerror}") from None
        return folder
    raise RunError(f"a thousand runs named {stem} are enough; name a folder")
