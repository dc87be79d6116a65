"""verify: whether the promises hold in a run's folder."""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from popbandits._errors import PopbanditsError
from popbandits.population import Decision, Extension, Report
from popbandits.run._checkpoints import damage, folder_of, visible
from popbandits.run._entries import DecisionEntry, Entry, ReportEntry
from popbandits.run._findings import Finding
from popbandits.run._log import Log
from popbandits.run._loop import CHECKPOINTS
from popbandits.run._settings import Settings
from popbandits.run._state import RunState, events
from popbandits.space import Space

_TOLD = 1_000  # events between two words on how far it is
_ROUNDING = 1e-9  # relative, of a number that another kind of processor has computed


def verify(directory: str | Path, progress: Callable[[int, int], None] | None = None) -> tuple[Finding, ...]:
    """Return what was found when a run's folder was held against what the engine promises.

    Args:
        directory: the run's folder.
        progress: told now and then how many events have been looked at, of how many. Each is looked at twice.

    Raises:
        RunError: when there is no run to verify, or its log cannot be read.
    """
    folder = Path(directory)
    log = Log.open(folder)

    def entries(done: int) -> Iterator[Entry]:
        for count, entry in enumerate(log.entries(), done):
            if progress is not None and count % _TOLD == 0:
                progress(count, 2 * log.length)
            yield entry

    try:
        log.check()
        settings = Settings.from_json(log.settings)
        found, state = _reports(settings, entries(0))
        return (
            Finding(True, f"the log is whole: {log.length} events, every checksum holds"),
            *found,
            *_checkpoints(folder, state),
            _decisions(settings, entries(log.length)),
        )
    finally:
        log.close()


def _reports(settings: Settings, entries: Iterator[Entry]) -> tuple[list[Finding], RunState]:
    """Return what was found of reports and hparams, and the state that they lead to."""
    state, twice, outside = RunState(settings), None, None
    for entry in entries:
        if isinstance(entry, ReportEntry) and twice is None and entry.interval <= state.agents[entry.agent].reported:
            twice = f"agent {entry.agent} reported interval {entry.interval} twice"
        elif isinstance(entry, DecisionEntry) and outside is None:
            outside = _outside(settings.space, entry)
        state.follow(entry)
    return [
        Finding(twice is None, twice or f"{state.reports} reports, none counted twice"),
        Finding(outside is None, outside or "all hparams lie in the space"),
    ], state


def _outside(space: Space, entry: DecisionEntry) -> str | None:
    """Return what is wrong with the hparams of a decision; None when they lie in the space."""
    for action in entry.decision.trained:
        try:
            space.encode(action.hparams)
        except PopbanditsError as error:
            return f"event {entry.seq}: hparams of agent {action.agent}: {error}"
    return None


def _checkpoints(folder: Path, state: RunState) -> Iterator[Finding]:
    names = visible(folder / CHECKPOINTS)
    bad = [(name, wrong) for name in names if (wrong := damage(folder / CHECKPOINTS / name)) is not None]
    for name, wrong in bad:
        yield Finding(False, f"the checkpoint {name} is damaged: {wrong}")
    if not bad:
        yield Finding(True, f"{len(names)} checkpoints, all hashes hold")
    needed = [agent.checkpoint for agent in state.agents]
    needed += [state.loads.get(agent.agent) for agent in state.agents if agent.state in ("training", "again")]
    missing = [name for name in needed if name is not None and folder_of(name) not in names]
    # A report between two checkpoints of a mapped population never had one.
    best = None if state.best is None else state.best.checkpoint
    if best is not None and not (folder / CHECKPOINTS / folder_of(best)).exists():
        missing.append("the checkpoint of the best report")
    yield Finding(not missing, f"{missing[0]} is needed and missing" if missing else "every checkpoint needed is there")


def _decisions(settings: Settings, entries: Iterator[Entry]) -> Finding:
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
            return Finding(False, f"decision {count} is not the one that its reports lead to")
        made = population.overdue()
    return Finding(True, f"{count} decisions, each the one that its reports lead to")


def _agree(space: Space, made: Decision, kept: Decision) -> bool:
    """Return whether two decisions are the same but for the last digits: processors round numbers differently."""
    who = [[(action.agent, getattr(action, "source", "stops")) for action in one.actions] for one in (made, kept)]
    pairs = zip(made.trained, kept.trained, strict=False)
    return who[0] == who[1] and all(_alike(space.flat(a.hparams), space.flat(b.hparams)) for a, b in pairs)


def _alike(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return a.keys() == b.keys() and all(
        math.isclose(value, b[name], rel_tol=_ROUNDING) if type(value) is type(b[name]) is float else value == b[name]
        for name, value in a.items()
    )
