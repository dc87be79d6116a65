"""What all trackers share: who reported what, with which hparams."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from popbandits._types import Hparams
from popbandits.run import Callback, Entry

if TYPE_CHECKING:
    from popbandits.run import Run


class Tracker(Callback, ABC):
    """Turns the entries of a log into numbers for each agent and interval; a resumed run goes on where it was."""

    def __init__(self) -> None:
        self._hparams: dict[int, Hparams] = {}

    def on_start(self, run: "Run") -> None:
        """Hear that training begins or goes on: open, and recall which hparams are in training."""
        self.open(run)
        for entry in run.entries:
            self._note(entry)

    def on_entry(self, entry: Entry) -> None:
        """Hear of an entry: track a report."""
        self._note(entry)
        if entry.kind == "report" and entry.agent is not None and entry.interval is not None:
            hparams = _numbers(self._hparams.get(entry.agent, {}))
            self.track(entry.agent, entry.interval, entry.body["metrics"], hparams)

    def _note(self, entry: Entry) -> None:
        if entry.kind == "decision":
            for action in entry.body["actions"]:
                if action["hparams"] is not None:
                    self._hparams[action["agent"]] = action["hparams"]

    @abstractmethod
    def open(self, run: "Run") -> None:
        """Begin to track a run."""

    @abstractmethod
    def track(self, agent: int, interval: int, metrics: Mapping[str, float], hparams: Mapping[str, float]) -> None:
        """Track what an agent reported at the end of an interval, and the hparams it trained with."""


def _numbers(hparams: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Return the hparams that are numbers, with dotted names."""
    found: dict[str, float] = {}
    for name, value in hparams.items():
        if isinstance(value, Mapping):
            found |= _numbers(value, f"{prefix}{name}.")
        elif isinstance(value, (int, float)):
            found[f"{prefix}{name}"] = float(value)
    return found
