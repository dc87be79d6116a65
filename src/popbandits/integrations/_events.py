"""The events of a population as lines of JSON in Ray's storage, so that a scheduler's state outlives its process."""

import json
from typing import Any

from popbandits.population import Decision, Event, Extension, Report

_EVENTS = "popbandits-events.jsonl"


def to_line(event: Event) -> str:
    """Return an event as one line."""
    if isinstance(event, Report):
        return json.dumps({"report": list(event)})
    return json.dumps(event.to_json() if isinstance(event, Decision) else {"intervals": event.intervals})


def from_line(line: str) -> Event:
    """Return the event of a line."""
    body: dict[str, Any] = json.loads(line)
    if "report" in body:
        return Report(*body["report"])
    if "intervals" in body:
        return Extension(body["intervals"])
    return Decision.from_json(body)


def write(storage: Any, text: str) -> None:
    """Write a scheduler's state into the storage of its experiment, whole or not at all."""
    path, files = f"{storage.experiment_fs_path}/{_EVENTS}", storage.storage_filesystem
    with files.open_output_stream(f"{path}.new") as out:
        out.write(text.encode())
    files.move(f"{path}.new", path)


def read(storage: Any) -> str | None:
    """Return the state that was written into an experiment's storage; None where there is none."""
    if storage is None:
        return None
    try:
        with storage.storage_filesystem.open_input_stream(f"{storage.experiment_fs_path}/{_EVENTS}") as source:
            text: str = source.read().decode()
    except (FileNotFoundError, OSError):
        return None
    return text
