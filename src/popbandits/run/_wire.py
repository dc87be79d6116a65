"""Messages between the controller and a worker: JSON with a mark and its length in front, over a pipe.

User code shares the worker's descriptors and may write into any of them by mistake. The mark tells such bytes from a
message, and the controller never waits for the rest of one: `Inbox` takes what is there.
"""

import json
import os
import struct
from dataclasses import asdict
from typing import Any

from popbandits.run._entries import Seconds
from popbandits.run._executor import Done, Failed, Outcome, Task

_HEAD = struct.Struct(">4sI")
_MARK = b"pbm1"
_CHUNK = 1 << 16  # bytes read at once
_PART = 1 << 20  # bytes of a long message read at once
_MOST = 1 << 30  # bytes of a message


class GarbledError(Exception):
    """What was read is no message: something else has written into the pipe."""


def send(descriptor: int, message: dict[str, Any]) -> None:
    """Write one message, all of it."""
    data = json.dumps(message).encode()
    rest = memoryview(_HEAD.pack(_MARK, len(data)) + data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def receive(descriptor: int) -> dict[str, Any] | None:
    """Read one message; None when the other side is gone."""
    head = _read(descriptor, _HEAD.size)
    if head is None:
        return None
    data = _read(descriptor, _HEAD.unpack(head)[1])
    if data is None:
        return None
    message: dict[str, Any] = json.loads(data)
    return message


class Inbox:
    """Puts messages together from what arrives, without waiting for the rest of one."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def take(self, descriptor: int) -> list[dict[str, Any]] | None:
        """Read what is there, and return the messages that are whole now; None when the other side is gone.

        Raises:
            GarbledError: when it is no message.
        """
        arrived = os.read(descriptor, _CHUNK)
        if not arrived:
            return None
        self._bytes += arrived
        messages = []
        while (message := self._next()) is not None:
            messages.append(message)
        return messages

    def _next(self) -> dict[str, Any] | None:
        if self._bytes[: len(_MARK)] != _MARK[: len(self._bytes)]:
            raise GarbledError
        if len(self._bytes) < _HEAD.size:
            return None
        end = _HEAD.size + _HEAD.unpack_from(self._bytes)[1]
        if end > _MOST:
            raise GarbledError
        if len(self._bytes) < end:
            return None
        try:
            message = json.loads(self._bytes[_HEAD.size : end])
        except (ValueError, RecursionError):
            raise GarbledError from None
        del self._bytes[:end]
        if not isinstance(message, dict):
            raise GarbledError
        return message


def _read(descriptor: int, size: int) -> bytes | None:
    data = bytearray()  # a message may hold a data set, and bytes would be copied with every part that arrives
    while len(data) < size:
        part = os.read(descriptor, min(_PART, size - len(data)))
        if not part:
            return None
        data += part
    return bytes(data)


def pack_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as JSON."""
    return {"outcome": type(outcome).__name__, **asdict(outcome)}


def unpack_outcome(message: dict[str, Any]) -> Outcome:
    """Return the outcome that was packed."""
    body = dict(message)
    kind, task = body.pop("outcome"), Task(**body.pop("task"))
    if kind == "Failed":
        return Failed(task, **body)
    return Done(task, body["score"], body["metrics"], Seconds(*body["seconds"]), body["checkpoint"], body["publish"])
