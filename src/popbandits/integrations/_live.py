"""A strategy for populations whose agents may leave: those that are gone neither copy, nor are copied, nor train."""

from collections.abc import Set
from dataclasses import dataclass, replace

from popbandits.population import Decision, Stop, Strategy, View


@dataclass(frozen=True)
class Live:
    """Another strategy, for the agents that are still there.

    Args:
        inner: the strategy.
        gone: the agents that are not; grows while the population trains.
    """

    inner: Strategy
    gone: Set[int]

    def start(self, view: View) -> Decision:
        """Return the first actions."""
        return self.inner.start(view)

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        """Return what the agents that are still there do next; the others stop."""
        left = tuple(agent for agent in due if agent in self.gone)
        there = tuple(agent for agent in due if agent not in self.gone)
        stops = tuple(Stop(agent) for agent in left)
        if not there:
            return Decision(stops, view.notes)
        seen = replace(view, last=tuple(-1 if a in self.gone else row for a, row in enumerate(view.last)))
        decision = self.inner.decide(seen, there)
        return Decision((*decision, *stops), decision.notes)
