"""The summary: the state of a long run as it was some thousand events ago, kept in a file of its own beside the log.

Without it, saying where a run of a million reports stands would take reading them all. With it, the newest events are
enough. It is written now and then while a run trains, and never synced: it may be old, torn or missing, and then the
whole log is read. It names the event that it ends with and that event's checksum, so that the summary of another run,
or of a log that has changed, is not believed.
"""

import json
import os
import zlib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from popbandits.run._entries import Details, is_name
from popbandits.run._log import Log
from popbandits.run._plain_files import read_plain
from popbandits.run._settings import Settings
from popbandits.run._state import AgentState, RunState

FILE = "run.summary"
EVERY = 5_000
"""Events between two summaries."""
_MOST = 100_000_000  # bytes
_STATES = ("waiting", "training", "again", "done")


def write_summary(folder: Path, state: RunState, log: Log) -> None:
    """Write down the state of a run after all the events of its log.

    Raises:
        OSError: when it cannot be written; nothing is lost by that.
    """
    body = json.dumps({"seq": log.length, "event": log.checksum(log.length), "state": _to_json(state)}).encode()
    beside = folder / f".new-{FILE}"
    beside.unlink(missing_ok=True)  # a link in its place is not followed
    beside.write_bytes(b"%08x\n" % zlib.crc32(body) + body)
    os.replace(beside, folder / FILE)


def read_summary(folder: Path, settings: Settings, log: Log) -> tuple[RunState, int]:
    """Return the state of a run some time ago, and how many events it had; that of no event where none is known."""
    try:
        head, _, body = read_plain(folder / FILE, _MOST).partition(b"\n")
        if int(head, 16) == zlib.crc32(body):
            kept = json.loads(body)
            seq, event = kept["seq"], kept["event"]
            if type(seq) is int and 0 < seq <= log.length and event == log.checksum(seq):
                return _from_json(settings, kept["state"]), seq
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        pass
    return RunState(settings), 0


def _to_json(state: RunState) -> dict[str, Any]:
    return {
        "agents": [_agent_to_json(agent) for agent in state.agents],
        "best": None if state.best is None else _agent_to_json(state.best),
        "loads": list(state.loads.items()),
        "due": sorted(state.due),
        "intervals": state.settings.intervals,
        "started": state.started,
        "reports": state.reports,
        "failures": state.failures,
    }


def _agent_to_json(agent: AgentState) -> dict[str, Any]:
    plain = {field.name: getattr(agent, field.name) for field in fields(agent)}
    return plain | {"details": None if agent.details is None else agent.details.text}


def _from_json(begun: Settings, kept: dict[str, Any]) -> RunState:
    state = RunState(replace(begun, intervals=kept["intervals"]))
    agents = [_agent_from_json(body, state.settings) for body in kept["agents"]]
    if [agent.agent for agent in agents] != list(range(begun.size)):
        raise ValueError("these are not the agents of the run")
    state.agents = agents
    state.best = None if kept["best"] is None else _agent_from_json(kept["best"], state.settings)
    state.loads = {_whole(agent, begun.size - 1): name for agent, name in kept["loads"]}
    if not all(map(is_name, state.loads.values())):
        raise ValueError("a checkpoint has no name")
    state.due = {_whole(agent, begun.size - 1) for agent in kept["due"]}
    state.started = bool(kept["started"])
    state.reports, state.failures = _whole(kept["reports"]), _whole(kept["failures"])
    return state


def _agent_from_json(body: dict[str, Any], settings: Settings) -> AgentState:
    details = body["details"]
    agent = AgentState(**(body | {"details": None if details is None else Details.of_text(details)}))
    for number in (agent.score, agent.score_error, agent.score_before, agent.change):
        if number is not None and type(number) not in (float, int):
            raise TypeError("a score is no number")
    for whole in (agent.agent, agent.interval, agent.reported, agent.attempts):
        _whole(whole)
    if agent.copied is not None:
        _whole(agent.copied, settings.size - 1)
    if agent.state not in _STATES or type(agent.fresh) is not bool or not is_name(agent.checkpoint):
        raise TypeError("an agent is in no state")
    if agent.hparams:
        settings.space.encode(agent.hparams)
    return agent


def _whole(value: Any, most: int = 2**62) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise TypeError(f"{value!r:.50} is no number of anything")
    return value
