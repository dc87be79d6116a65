"""What runs inside a Ray actor: a trainer, and a folder of its own where it cannot see the run's."""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from popbandits._errors import PopbanditsError
from popbandits.run._checkpoints import beside_of
from popbandits.run._executor import Done, Task
from popbandits.run._hello import Hello
from popbandits.run._parcels import Parcel, packed, unpacked
from popbandits.run._processes import XLA
from popbandits.run._wire import pack_outcome

TOKEN = ".seen-by-ray"
"""A file in the folder of checkpoints: an actor that can read what the controller wrote into it shares the folder."""


class RayWorker:
    """Trains task after task. Made by `Ray`.

    Args:
        told: the first message to a worker, as JSON.
        token: what the controller has written into the folder of checkpoints.
        one_core: whether it has one core to itself.
    """

    def __init__(self, told: dict[str, Any], token: str, one_core: bool) -> None:
        hello = Hello(**told)
        sys.path[:] = [*sys.path, *(entry for entry in hello.path if entry not in sys.path)]
        if one_core:
            os.environ.setdefault("XLA_FLAGS", XLA)  # Ray itself sees to the other libraries
        seen = Path(hello.checkpoints) / TOKEN
        self._shares = seen.is_file() and seen.read_text() == token
        self._folder = Path(hello.checkpoints) if self._shares else Path(tempfile.mkdtemp(prefix="popbandits-"))
        self._unusable: str | None = None
        try:
            self._trainer = hello.trainer(self._folder)
        except PopbanditsError as error:
            self._unusable = str(error)

    def ready(self) -> dict[str, Any]:
        """Return whether this actor sees the run folder, and why it cannot train if so."""
        return {"shares": self._shares, "unusable": self._unusable}

    def tidy(self) -> None:
        """Remove the folder of its own."""
        if not self._shares:
            shutil.rmtree(self._folder, ignore_errors=True)

    def train(self, task: dict[str, Any], parcel: Parcel | None) -> tuple[dict[str, Any], Parcel | None]:
        """Train a task, from the checkpoint in the parcel if one comes with it; return the outcome and its parcel."""
        given = Task(**task)
        if parcel is not None and given.load is not None:
            unpacked(parcel, self._folder / given.load)
        outcome = self._trainer.train(given)
        if self._shares:
            return pack_outcome(outcome), None
        made = beside_of(self._folder, given.save)
        parcel = packed(made) if isinstance(outcome, Done) else None
        shutil.rmtree(made, ignore_errors=True)
        if given.load is not None:
            shutil.rmtree(self._folder / given.load, ignore_errors=True)
        return pack_outcome(outcome), parcel
