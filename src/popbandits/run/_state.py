"""The state of a run, followed entry by entry: what the controller, the live view, trackers and `verify` ask about.

Everything here is in the user's sense of the score, as in the log.
"""

import math
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace

from popbandits._types import Hparams
from popbandits.population import Event, Extension, Report, Stop
from popbandits.run._checkpoints import number_of
from popbandits.run._entries import DecisionEntry, Details, Entry, ExtensionEntry, FailureEntry, ReportEntry
from popbandits.run._settings import Settings


@dataclass
class AgentState:
    """One agent.

    Args:
        agent: its id.
        interval: the last one it reported or failed in.
        reported: the last one it reported; 0 before the first.
        score, score_error: of its last report.
        score_before, change: the score its weights began that interval with, and what the report added to it.
        hparams, copied: what it trains or last trained with, and whose weights it took over for that; None for its own.
        fresh: whether it began that with fresh weights.
        attempts: how often its present interval has failed.
        details: of its last report.
        checkpoint: the weights of its last report.
        state: "waiting", "training", "again" (after a failure) or "done".
    """

    agent: int
    interval: int = 0
    reported: int = 0
    score: float | None = None
    score_error: float | None = None
    score_before: float | None = None
    change: float | None = None
    hparams: Hparams = field(default_factory=dict)
    copied: int | None = None
    fresh: bool = True
    attempts: int = 0
    details: Details | None = None
    checkpoint: str | None = None
    state: str = "waiting"


class RunState:
    """What has happened so far.

    Args:
        settings: of the run, as it was begun.
        entries: of its log, to begin with.
    """

    def __init__(self, settings: Settings, entries: Iterable[Entry] = ()) -> None:
        self.settings = settings
        self.agents = [AgentState(agent) for agent in range(settings.size)]
        self.loads: dict[int, str | None] = {}
        """The checkpoint that each agent was told to begin with."""
        self.reports = 0
        self.failures = 0
        self.best: AgentState | None = None
        """As it was when it reported the best score."""
        self.started = False
        self.due: set[int] = set()
        """The agents that have reported and wait for a decision."""
        for entry in entries:
            self.follow(entry)

    def follow(self, entry: Entry) -> None:
        """Take in one entry of the log."""
        if isinstance(entry, DecisionEntry):
            self._decided(entry)
        elif isinstance(entry, FailureEntry):
            agent = self.agents[entry.agent]
            agent.interval, agent.attempts, agent.state = entry.interval, entry.attempt, "again"
            if entry.damaged is not None:
                self.loads[entry.agent] = entry.load
            self.failures += 1
        elif isinstance(entry, ReportEntry):
            self._reported(entry)
        elif isinstance(entry, ExtensionEntry):
            training = self.training
            least = self.settings.intervals if training else 1  # as the population has it
            self.due |= {agent.agent for agent in self.agents if agent.reported >= least} - training
            self.settings = replace(self.settings, intervals=entry.intervals)

    @property
    def training(self) -> set[int]:
        """The agents that train now, or again after a failure."""
        return {agent.agent for agent in self.agents if agent.state in ("training", "again")}

    @property
    def finished(self) -> bool:
        """Whether no agent will train again."""
        return self.started and not self.due and not self.training

    @property
    def loading(self) -> set[str]:
        """Those checkpoints, each once."""
        return {name for name in self.loads.values() if name is not None}

    def _decided(self, entry: DecisionEntry) -> None:
        self.started = True
        self.due = set() if self.settings.sync else set(sorted(self.due)[1:])
        for action in entry.decision:
            agent = self.agents[action.agent]
            agent.attempts = 0
            self.loads[action.agent] = entry.loads.get(action.agent)
            if isinstance(action, Stop):
                agent.state = "done"
                continue
            source = action.source
            agent.state, agent.hparams = "training", action.hparams
            agent.score_before = None if source is None else self.agents[source].score
            agent.copied = source if source != agent.agent else None
            agent.fresh = source is None

    def _reported(self, entry: ReportEntry) -> None:
        agent = self.agents[entry.agent]
        self.reports += 1
        agent.interval, agent.reported, agent.details = entry.interval, entry.interval, entry.details
        agent.state = "waiting"
        self.due.add(entry.agent)
        agent.change = None if agent.score_before is None else entry.score - agent.score_before
        agent.score, agent.score_error, agent.checkpoint = entry.score, entry.score_error, entry.checkpoint
        if math.isfinite(entry.score) and (self.best is None or self._place(agent) > self._place(self.best)):
            self.best = copy(agent)

    def _place(self, agent: AgentState) -> tuple[float, int, int]:
        """Return a key by which the best comes last: of equals, the one of the earliest interval and lowest id."""
        score = -math.inf if agent.score is None else self.settings.inside(agent.score)
        return score, -agent.interval, -agent.agent


def events(settings: Settings, entries: Iterable[Entry]) -> Iterator[Event]:
    """Yield what the core lived through, from the entries of a log."""
    for entry in entries:
        if isinstance(entry, ReportEntry):
            yield Report(entry.agent, entry.interval, settings.inside(entry.score), entry.score_error)
        elif isinstance(entry, DecisionEntry):
            yield entry.decision
        elif isinstance(entry, ExtensionEntry):
            yield Extension(entry.intervals)


def written_every(entries: Iterable[Entry]) -> int:
    """Return after how many intervals `Vectorised` wrote the population that these entries are of: the first time."""
    for entry in entries:
        if isinstance(entry, ReportEntry) and entry.checkpoint is not None and "/" in entry.checkpoint:
            return number_of(entry.checkpoint)
    return 1


def trained_together(entries: Iterable[Entry]) -> bool | None:
    """Return whether a run was trained as a whole, by `Vectorised`; None while no report tells."""
    for entry in entries:
        if isinstance(entry, ReportEntry) and not math.isnan(entry.score):
            # Only Vectorised reports a score without a checkpoint; an agent that was given up has neither.
            return entry.checkpoint is None or "/" in entry.checkpoint
    return None
