"""Messages between the controller and a worker: JSON with its length in front, over a pipe."""

import json
import os
import struct
from dataclasses import asdict
from typing import Any

from popbandits.run._entries import Seconds
from popbandits.run._executor import Done, Failed, Outcome, Task

_LENGTH = struct.Struct(">I")


def send(descriptor: int, message: dict[str, Any]) -> None:
    """Write one message, all of it."""
    data = json.dumps(message).encode()
    rest = memoryview(_LENGTH.pack(len(data)) + data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def receive(descriptor: int) -> dict[str, Any] | None:
    """Read one message; None when the other side is gone."""
    head = _read(descriptor, _LENGTH.size)
    if head is None:
        return None
    data = _read(descriptor, _LENGTH.unpack(head)[0])
    if data is None:
        return None
    message: dict[str, Any] = json.loads(data)
    return message


def _read(descriptor: int, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        part = os.read(descriptor, size - len(data))
        if not part:
            return None
        data += part
    return data


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
