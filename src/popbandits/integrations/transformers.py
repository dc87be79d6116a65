"""Hugging Face Transformers: a trainable from a function that makes a `Trainer`.

Each interval is a `train` that goes on from the last checkpoint, which is the Trainer's own: it holds the weights, the
optimiser, the schedule of the learning rate and the random state. Hparams are set when the checkpoint has been
restored, so that it cannot overwrite them, and read back from where training uses them:

- `learning_rate` becomes the rate that the Trainer's own schedule starts from; with `lr_scheduler_type="constant"` in
  the arguments it is the rate itself;
- `weight_decay` is set for the weights that decay, and left at 0 for biases and norms;
- `batch_size` is the batch of one device;
- any other name that the optimiser knows (`betas` excepted) is set there.

The Trainer's `max_steps` or `num_train_epochs` is the length of the whole run: intervals times steps, or more.
"""

import functools
import json
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from popbandits._errors import OptionError, TrainableError
from popbandits._types import Hparams
from popbandits.integrations._adapters import check_count, made_of

try:
    import transformers
except ModuleNotFoundError as error:
    raise OptionError(
        "popbandits.integrations.transformers needs Transformers; pip install 'popbandits[transformers]'"
    ) from error

_RANDOM = "rng_state.pth"
_OWN = "popbandits.json"


def trainable(
    make_trainer: Callable[..., Any], *, steps: int, score: Callable[[Any], Any] | None = None
) -> Callable[[int], Any]:
    """Return a trainable.

    Bind it to a name at the top of a module: then a run is resumed without being given it again.

    Its metrics are those of `trainer.evaluate()`: tell `tune` which is the score, such as metric="eval_loss",
    mode="min".

    Args:
        make_trainer: a function from a seed to a `Trainer` with its model, arguments and data. What `tune` is given as
            `config` are its further arguments.
        steps: optimiser steps of an interval.
        score: from the Trainer to its score or a dict of metrics, in place of `trainer.evaluate()`.

    Raises:
        OptionError: for a number of steps that cannot be.
    """
    check_count("steps", steps)

    class Agent(_Agent):
        def __init__(self, seed: int, /, **config: Any) -> None:
            super().__init__(make_trainer(seed, **config), seed, steps, score)

    return made_of(Agent, make_trainer, seeded=True)  # type: ignore[no-any-return]


class _Agent:
    def __init__(self, trainer: Any, seed: int, steps: int, score: Callable[[Any], Any] | None) -> None:
        self.trainer, self._seed, self._steps, self._score = trainer, seed, steps, score
        folder = tempfile.mkdtemp(prefix="popbandits-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._folder = Path(folder)
        self._last: Path | None = None
        self._done = 0
        self._drawn_anew = True  # random numbers come from the seed, and not from a checkpoint
        self._interval = _Interval()
        trainer.add_callback(self._interval)
        trainer.args.output_dir = folder
        trainer.args.ignore_data_skip = True  # an interval draws its data anew, in an order of its own

    def step(self, hparams: Hparams) -> Any:
        trainer = self.trainer
        # Without a seed of its own, the order of the data would come from whatever was last seeded in this process.
        trainer.accelerator.dataloader_config.data_seed = self._seed + self._done
        self._interval.begin(trainer, hparams, self._done + self._steps, self._seed if self._drawn_anew else None)
        if self._drawn_anew and self._last is not None:
            (self._last / _RANDOM).unlink(missing_ok=True)
        self._drawn_anew = False
        trainer.train(resume_from_checkpoint=None if self._last is None else str(self._last))
        if trainer.state.global_step < self._done + self._steps:
            raise TrainableError(
                f"the Trainer ended after {trainer.state.global_step} steps, but this interval goes to "
                f"{self._done + self._steps}; its max_steps or num_train_epochs must cover all intervals"
            )
        self._done = trainer.state.global_step
        before, self._last = self._last, self._folder / f"checkpoint-{self._done}"
        if before is not None and before != self._last:
            shutil.rmtree(before, ignore_errors=True)
        return trainer.evaluate() if self._score is None else self._score(trainer)

    def reseed(self, seed: int) -> None:
        self._seed, self._drawn_anew = seed, True

    def hparams_in_effect(self) -> dict[str, Any]:
        return self._interval.in_effect()

    def save(self, path: Path) -> None:
        if self._last is None:
            raise TrainableError("a Trainer is saved after its first interval")
        shutil.copytree(self._last, path, dirs_exist_ok=True)
        (path / _OWN).write_text(json.dumps({"steps": self._done, "seed": self._seed}))

    def load(self, path: Path) -> None:
        own = json.loads((path / _OWN).read_text())
        self._done, self._seed, self._drawn_anew = own["steps"], own["seed"], False
        for old in self._folder.glob("checkpoint-*"):
            shutil.rmtree(old, ignore_errors=True)
        self._last = self._folder / f"checkpoint-{self._done}"
        shutil.copytree(path, self._last, ignore=shutil.ignore_patterns(_OWN, "manifest.json"))


class _Interval(transformers.TrainerCallback):  # type: ignore[misc]
    """Sets hparams when training has been restored, and ends it when the interval is over."""

    def __init__(self) -> None:
        self._seed: int | None = None
        self._until = 0
        self._trainer: Any = None
        self._hparams: Hparams = {}
        self._read: dict[str, Callable[[], Any]] = {}

    def begin(self, trainer: Any, hparams: Hparams, until: int, seed: int | None) -> None:
        """Get ready for an interval; the batch size is set at once, since loaders are made before training begins."""
        self._trainer, self._hparams, self._until, self._seed = trainer, hparams, until, seed
        self._read = {}
        if "batch_size" in hparams:
            trainer.args.per_device_train_batch_size = hparams["batch_size"]
            trainer._train_batch_size = trainer.args.train_batch_size
            self._read["batch_size"] = lambda: trainer._train_batch_size // max(1, trainer.args.n_gpu)

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        if self._seed is not None:
            transformers.set_seed(self._seed)
        groups = self._trainer.optimizer.param_groups
        for name, value in self._hparams.items():
            if name == "learning_rate":
                _set_rate(self._trainer.lr_scheduler, groups, value)
                self._read[name] = functools.partial(_rate, self._trainer.lr_scheduler)
            elif name == "weight_decay":
                _set_decay(groups, value)
                self._read[name] = functools.partial(groups[0].get, name)
            elif name != "batch_size":
                if not isinstance(groups[0].get(name), (int, float)):
                    known = ", ".join(key for key, held in groups[0].items() if isinstance(held, (int, float)))
                    raise TrainableError(
                        f"hyperparameter {name!r} is none of learning_rate, weight_decay and batch_size, "
                        f"and no number of the optimiser's, which has {known}"
                    )
                for group in groups:
                    group[name] = value
                self._read[name] = functools.partial(groups[0].get, name)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:  # noqa: ARG002
        if state.global_step >= self._until:
            control.should_training_stop = control.should_save = True
        return control

    def in_effect(self) -> dict[str, Any]:
        """Return the hparams from where training read them."""
        return {name: read() for name, read in self._read.items()}


def _set_rate(scheduler: Any, groups: list[Any], value: float) -> None:
    """Let the schedule start from another rate, from this step on."""
    before = _rate(scheduler)
    scheduler.base_lrs = [value] * len(groups)
    for group in groups:
        group["lr"] = value if before == 0 else value * group["lr"] / before
        group["initial_lr"] = value


def _rate(scheduler: Any) -> float:
    return float(scheduler.base_lrs[0])


def _set_decay(groups: list[Any], value: float) -> None:
    """Set the decay of the first group; Trainers put weights that do not decay into a second one."""
    groups[0]["weight_decay"] = value
