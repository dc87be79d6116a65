"""Which checkpoints are still needed, and removing the others.

Needed are each agent's last two (the older one in case the newer is damaged), the best one, whatever an agent that is
training was told to load, and the weights that the run was given.
"""

import math
from collections.abc import Collection
from pathlib import Path

from popbandits.run._checkpoints import INITIAL, collect, folder_of

_EACH = 2


class Keeper:
    """Knows the checkpoints of a run as its reports come in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._of_agent: dict[int, list[str]] = {}
        self._best: tuple[float, str] | None = None
        self._retired: set[str] = set()
        self._damaged: dict[str, str | None] = {}
        self._scores: dict[str, float] = {}

    def reported(self, agent: int, score: float, name: str | None) -> None:
        """Note the checkpoint of a report; higher scores are better."""
        if name is None:
            return
        self._scores[name] = score
        own = self._of_agent.setdefault(agent, [])
        if name not in own:
            own.append(name)
        while len(own) > _EACH:
            self._retired.add(own.pop(0))
        if math.isfinite(score) and (self._best is None or score > self._best[0]):
            if self._best is not None:
                self._retired.add(self._best[1])
            self._best = (score, name)

    def before(self, name: str) -> str | None:
        """Return the checkpoint that the agent of this one had before it; None when there is none."""
        if name in self._damaged:
            return self._damaged[name]
        for own in self._of_agent.values():
            if name in own:
                at = own.index(name)
                return own[at - 1] if at > 0 else None
        return None

    def damaged(self, name: str) -> None:
        """Forget a checkpoint that cannot be used."""
        self._damaged[name] = self.before(name)
        for own in self._of_agent.values():
            if name in own:
                own.remove(name)
        if self._best is not None and self._best[1] == name:
            kept = {name for own in self._of_agent.values() for name in own}
            finite = [(self._scores[other], other) for other in sorted(kept) if math.isfinite(self._scores[other])]
            self._best = max(finite, default=None)

    def latest(self, agent: int) -> str | None:
        """Return the newest checkpoint of an agent; None when it has none."""
        own = self._of_agent.get(agent)
        return own[-1] if own else None

    def needed(self, loading: Collection[str]) -> set[str]:
        """Return every checkpoint that must stay, given those that training agents load."""
        kept = {name for own in self._of_agent.values() for name in own} | set(loading)
        kept |= {name for name in self._damaged.values() if name is not None}
        return kept | {INITIAL} | ({self._best[1]} if self._best else set())

    def tidy(self, loading: Collection[str]) -> None:
        """Remove the checkpoints that are needed no more."""
        if not self._retired:
            return
        needed = {folder_of(name) for name in self.needed(loading)}
        collect(self.folder, {folder_of(name) for name in self._retired} - needed)
        for name in self._retired:
            if folder_of(name) not in needed:
                self._scores.pop(name, None)
        self._retired = {name for name in self._retired if folder_of(name) in needed}
