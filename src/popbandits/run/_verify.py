"""verify: whether the promises hold in a run's folder."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from popbandits._errors import PopbanditsError
from popbandits.population import Decision, Extension, Report
from popbandits.run._checkpoints import damage, folder_of, visible
from popbandits.run._entries import DecisionEntry, Entry, ReportEntry
from popbandits.run._findings import Finding
from popbandits.run._log import Log
from popbandits.run._loop import CHECKPOINTS
from popbandits.run._run import Run
from popbandits.run._settings import Settings
from popbandits.run._state import RunState, events
from popbandits.space import Space

_ROUNDING = 1e-9  # relative, of a number that another kind of processor has computed


def verify(directory: str | Path) -> tuple[Finding, ...]:
    """Return what was found when a run's folder was held against what the engine promises.

    Raises:
        RunError: when there is no run to verify, or its log cannot be read.
    """
    folder = Path(directory)
    log = Log.open(folder)
    try:
        log.check()
        settings, entries = Settings.from_json(log.settings), list(log.entries())
    finally:
        log.close()
    found = [Finding(True, f"the log is whole: {len(entries)} events, every checksum holds")]
    found.extend(_reports(settings, entries))
    found.extend(_checkpoints(folder, settings, entries))
    found.extend(_decisions(settings, entries))
    return tuple(found)


def _reports(settings: Settings, entries: list[Entry]) -> Iterator[Finding]:
    counted = Counter((entry.agent, entry.interval) for entry in entries if isinstance(entry, ReportEntry))
    twice = [key for key, count in counted.items() if count > 1]
    yield (
        Finding(not twice, f"agent {twice[0][0]} reported interval {twice[0][1]} twice")
        if twice
        else Finding(True, f"{len(counted)} reports, none counted twice")
    )
    for entry in entries:
        for action in entry.decision.trained if isinstance(entry, DecisionEntry) else ():
            try:
                settings.space.encode(action.hparams)
            except PopbanditsError as error:
                yield Finding(False, f"event {entry.seq}: hparams of agent {action.agent}: {error}")
                return
    yield Finding(True, "all hparams lie in the space")


def _checkpoints(folder: Path, settings: Settings, entries: list[Entry]) -> Iterator[Finding]:
    names = visible(folder / CHECKPOINTS)
    bad = [(name, wrong) for name in names if (wrong := damage(folder / CHECKPOINTS / name)) is not None]
    for name, wrong in bad:
        yield Finding(False, f"the checkpoint {name} is damaged: {wrong}")
    if not bad:
        yield Finding(True, f"{len(names)} checkpoints, all hashes hold")
    state = RunState(settings, entries)
    needed = [agent.checkpoint for agent in state.agents]
    needed += [state.loads.get(agent.agent) for agent in state.agents if agent.state in ("training", "again")]
    missing = [name for name in needed if name is not None and folder_of(name) not in names]
    # A report between two checkpoints of a mapped population never had one.
    if state.best is not None and state.best.checkpoint is not None and Run(folder).best.checkpoint is None:
        missing.append("the checkpoint of the best report")
    yield Finding(not missing, f"{missing[0]} is needed and missing" if missing else "every checkpoint needed is there")


def _decisions(settings: Settings, entries: list[Entry]) -> Iterator[Finding]:
    """Make every decision again and compare."""
    population = settings.population()
    made: Decision | None = None
    count = 0
    for event in events(settings, entries):
        if isinstance(event, Report):
            made = population.tell(event.agent, event.score, interval=event.interval, score_error=event.score_error)
            continue
        if isinstance(event, Extension):
            population.extend(event.intervals)
            made = population.overdue()
            continue
        made = population.start() if count == 0 else made
        count += 1
        if made is None or not _agree(settings.space, made, event):
            yield Finding(False, f"decision {count} is not the one that its reports lead to")
            return
        made = population.overdue()
    yield Finding(True, f"{count} decisions, each the one that its reports lead to")


def _agree(space: Space, made: Decision, kept: Decision) -> bool:
    """Return whether two decisions are the same but for the last digits: processors round numbers differently."""
    who = [[(action.agent, getattr(action, "source", "stops")) for action in one.actions] for one in (made, kept)]
    pairs = zip(made.trained, kept.trained, strict=False)
    return who[0] == who[1] and all(_alike(space.flat(a.hparams), space.flat(b.hparams)) for a, b in pairs)


def _alike(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return a.keys() == b.keys() and all(
        math.isclose(value, b[name], rel_tol=_ROUNDING) if isinstance(value, float) else value == b[name]
        for name, value in a.items()
    )
