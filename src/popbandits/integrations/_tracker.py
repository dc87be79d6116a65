"""What all trackers share: who reported what, with which hparams."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from popbandits.run import Callback, Entry, ReportEntry, RunState

if TYPE_CHECKING:
    from popbandits.run import Run


class Tracker(Callback, ABC):
    """Turns the entries of a log into numbers for each agent and interval; a resumed run goes on where it was."""

    def __init__(self) -> None:
        self._state: RunState | None = None

    def on_start(self, run: "Run") -> None:
        """Hear that training begins or goes on: open, and recall which hparams are in training."""
        self.open(run)
        self._state = RunState(run.settings, run.entries)

    def on_entry(self, entry: Entry) -> None:
        """Hear of an entry: track a report."""
        assert self._state is not None
        self._state.follow(entry)
        if isinstance(entry, ReportEntry):
            hparams = _numbers(self._state.agents[entry.agent].hparams)
            self.track(entry.agent, entry.interval, entry.metrics, hparams)

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
