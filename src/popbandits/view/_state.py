"""The state of a run that progress shows, followed entry by entry."""

import math
import time
from dataclasses import dataclass, field, replace
from typing import Any

from popbandits.run import Entry, Settings


@dataclass
class AgentState:
    """One agent: its last report and how long it took, what it trains now, whom it copied."""

    agent: int
    interval: int = 0
    score: float | None = None
    score_error: float | None = None
    score_before: float | None = None
    change: float | None = None
    hparams: dict[str, Any] = field(default_factory=dict)
    copied: int | None = None
    seconds: float | None = None
    state: str = "waiting"


class RunState:
    """What has happened so far.

    Args:
        settings: of the run.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.agents = [AgentState(agent) for agent in range(settings.size)]
        self.reports = 0
        self.failures = 0
        self.best: AgentState | None = None
        """As it was when it reported the best score."""
        self.began = time.monotonic()
        self._reports_before = 0

    def resumed(self, entries: tuple[Entry, ...]) -> None:
        """Take in what had happened before."""
        for entry in entries:
            self.follow(entry)
        self._reports_before = self.reports

    def follow(self, entry: Entry) -> None:
        """Take in one entry of the log."""
        if entry.kind == "decision":
            for action in entry.body["actions"]:
                agent = self.agents[action["agent"]]
                agent.state = "done" if action["stop"] else "training"
                agent.hparams = action["hparams"] or agent.hparams
                source = action["source"]
                agent.score_before = None if source is None else self.agents[source].score
                agent.copied = source if source is not None and source != agent.agent else None
        elif entry.agent is not None:
            agent = self.agents[entry.agent]
            agent.interval = entry.interval or 0
            if entry.kind == "failure":
                agent.state = "again"
                self.failures += 1
            else:
                self._reported(agent, entry)

    @property
    def budget(self) -> int:
        """Reports that the run may take in all."""
        return self.settings.size * self.settings.intervals

    @property
    def seconds_left(self) -> float | None:
        """An estimate from the pace so far; None before there is one."""
        done = self.reports - self._reports_before
        pace = (time.monotonic() - self.began) / done if done else None
        return None if pace is None else pace * (self.budget - self.reports)

    def _reported(self, agent: AgentState, entry: Entry) -> None:
        score = entry.score
        assert score is not None
        self.reports += 1
        agent.state = "waiting"
        agent.seconds = sum(entry.body["seconds"])
        agent.change = None if agent.score_before is None else score - agent.score_before
        agent.score, agent.score_error = score, entry.score_error
        sign = self.settings.sign
        best = None if self.best is None else self.best.score
        if math.isfinite(score) and (best is None or sign * score > sign * best):
            self.best = replace(agent)
