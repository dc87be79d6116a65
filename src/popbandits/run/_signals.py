"""Signals: the first asks the loop to end in order, the second ends the process at once."""

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interrupts:
    """While a `with` block lasts, SIGINT and SIGTERM set `asked` instead of ending the program."""

    def __init__(self) -> None:
        self.asked: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._heard)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _heard(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        if self.asked is not None:
            os._exit(128 + number)  # workers notice by themselves that their controller is gone
        self.asked = number
