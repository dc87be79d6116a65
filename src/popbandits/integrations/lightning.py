"""Lightning: a trainable from a LightningModule and a LightningDataModule.

Each interval is a `fit` that goes on from the last checkpoint, Lightning's own. Hparams are set when the checkpoint has
been restored, so that it cannot overwrite them, and read back from where training uses them:

- a name in the optimisers' parameter groups (lr or learning_rate, weight_decay, momentum …) is set there;
- a name of the data module, such as batch_size, is set on it, and its loaders are made anew;
- any other name is set on the module itself, where it must exist. What the module reads only when it is made, or when
  it makes its optimisers, cannot be changed so.
"""

import shutil
import tempfile
import warnings
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from popbandits._errors import OptionError, TrainableError
from popbandits._types import Hparams
from popbandits.integrations._adapters import check_count, made_of, taken_by

try:
    import lightning
    import torch
except ModuleNotFoundError as error:
    raise OptionError(
        "popbandits.integrations.lightning needs Lightning; pip install 'popbandits[lightning]'"
    ) from error

_CHECKPOINT = "lightning.ckpt"
_ALIASES = {"learning_rate": "lr"}  # what modules call what optimisers call otherwise
_QUIET: dict[str, Any] = {
    "logger": False,
    "enable_checkpointing": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
}


def trainable(
    make_module: Callable[..., Any], make_data: Callable[..., Any], *, epochs: int = 1, **trainer: Any
) -> Callable[[int], Any]:
    """Return a trainable.

    Bind it to a name at the top of a module: then a run is resumed without being given it again.

    Its metrics are those that the module logs: tell `tune` which is the score, such as metric="val_loss", mode="min".

    Args:
        make_module, make_data: the LightningModule and the LightningDataModule, or functions that make them. Of what
            `tune` is given as `config`, each takes the arguments that it has.
        epochs: of an interval.
        trainer: options of Lightning's `Trainer`, such as accelerator="cpu".

    Raises:
        OptionError: for a number of epochs that cannot be.
    """
    check_count("epochs", epochs)

    class Agent(_Agent):
        def __init__(self, seed: int, /, **config: Any) -> None:
            torch.manual_seed(seed)
            module = make_module(**taken_by(make_module, config))
            super().__init__(module, make_data(**taken_by(make_data, config)), epochs, trainer)

    return made_of(Agent, make_module, make_data, seeded=False)  # type: ignore[no-any-return]


class _Agent:
    def __init__(self, module: Any, data: Any, epochs: int, options: Any) -> None:
        self.module, self.data = module, data
        self._epochs, self._options = epochs, options
        self._done = 0
        folder = tempfile.mkdtemp(prefix="popbandits-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._last = Path(folder) / _CHECKPOINT
        self._setter: _Sets | None = None

    def step(self, hparams: Hparams) -> Any:
        self._setter = _Sets(hparams)
        callbacks = [*self._options.get("callbacks", ()), self._setter]
        options = {**_QUIET, **self._options, "callbacks": callbacks, "max_epochs": self._done + self._epochs}
        self._setter.on_data(self.data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Lightning's advice on loaders and checkpoints is not ours to fix
            trainer = lightning.Trainer(**options)
            trainer.fit(self.module, datamodule=self.data, ckpt_path=self._last if self._last.exists() else None)
            trainer.save_checkpoint(self._last)
        self._done = trainer.current_epoch
        return {name: float(value) for name, value in trainer.callback_metrics.items()}

    def reseed(self, seed: int) -> None:
        torch.manual_seed(seed)  # of the order of data and of dropout; it is no part of Lightning's checkpoint

    def hparams_in_effect(self) -> dict[str, Any]:
        return {} if self._setter is None else self._setter.in_effect()

    def save(self, path: Path) -> None:
        shutil.copyfile(self._last, path / _CHECKPOINT)
        (path / "epochs").write_text(str(self._done))

    def load(self, path: Path) -> None:
        shutil.copyfile(path / _CHECKPOINT, self._last)
        self._done = int((path / "epochs").read_text())


class _Sets(lightning.Callback):  # type: ignore[misc]
    """Sets hparams once the checkpoint has been restored, and knows where they went."""

    def __init__(self, hparams: Hparams) -> None:
        self._hparams = dict(hparams)
        self._read: dict[str, Callable[[], Any]] = {}

    def on_data(self, data: Any) -> None:
        """Set what belongs to the data module; its loaders are made after this."""
        for name, value in self._hparams.items():
            if hasattr(data, name):
                setattr(data, name, value)
                self._read[name] = partial(getattr, data, name)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Set the rest, in the optimisers or on the module."""
        groups = [group for optimizer in trainer.optimizers for group in optimizer.param_groups]
        for name, value in self._hparams.items():
            if name in self._read:
                continue
            key = _ALIASES.get(name, name)
            if groups and key in groups[0]:
                for group in groups:
                    group[key] = value
                self._read[name] = partial(groups[0].get, key)
            elif hasattr(pl_module, name):
                setattr(pl_module, name, value)
                self._read[name] = partial(getattr, pl_module, name)
            else:
                known = ", ".join(groups[0]) if groups else "none"
                raise TrainableError(
                    f"hyperparameter {name!r} is neither in the optimiser, which has {known}, "
                    f"nor an attribute of {type(pl_module).__name__} or its data module"
                )

    def in_effect(self) -> dict[str, Any]:
        """Return the hparams from where training read them."""
        return {name: read() for name, read in self._read.items()}
