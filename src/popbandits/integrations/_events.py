"""The events of a population as lines of JSON, so that a scheduler's state outlives its process."""

import json
from typing import Any

from popbandits.population import Action, Decision, Event, Report


def to_line(event: Event) -> str:
    """Return an event as one line."""
    if isinstance(event, Report):
        return json.dumps({"report": list(event)})
    return json.dumps({"actions": [list(action) for action in event.actions], "notes": dict(event.notes)})


def from_line(line: str) -> Event:
    """Return the event of a line."""
    body: dict[str, Any] = json.loads(line)
    if "report" in body:
        return Report(*body["report"])
    return Decision(tuple(Action(*action) for action in body["actions"]), body["notes"])
