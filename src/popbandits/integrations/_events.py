"""The events of a population as lines of JSON, so that a scheduler's state outlives its process."""

import json
from typing import Any

from popbandits.population import Decision, Event, Report


def to_line(event: Event) -> str:
    """Return an event as one line."""
    if isinstance(event, Report):
        return json.dumps({"report": list(event)})
    return json.dumps(event.to_json())


def from_line(line: str) -> Event:
    """Return the event of a line."""
    body: dict[str, Any] = json.loads(line)
    if "report" in body:
        return Report(*body["report"])
    return Decision.from_json(body)
