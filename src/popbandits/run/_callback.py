"""Callbacks: told what happens in a run, as it is written to the log."""

from typing import TYPE_CHECKING

from popbandits.run._entries import Entry

if TYPE_CHECKING:
    from popbandits.run._run import Run


class Callback:
    """Override what you want to hear of. A callback that raises is put aside; the run goes on."""

    def on_start(self, run: "Run") -> None:
        """Hear that training begins, or goes on after a resume."""

    def on_entry(self, entry: Entry) -> None:
        """Hear of a decision, report or failure that is now in the log."""

    def on_end(self, run: "Run") -> None:
        """Hear that training has ended: finished, or interrupted."""
