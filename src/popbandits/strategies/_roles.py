"""Roles: who copies, who gets new hparams, and who goes on as before.

explorers   search a region: those who copy (or everybody, if asked)
scouts      search the whole space: the worse half of those between the worst and the best
keepers     go on with their hparams; under noise, one of those may be the best of all
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from popbandits.population import View
from popbandits.strategies._copying import copy_step, draw_donor
from popbandits.strategies._scouts import is_lost

Explore: TypeAlias = Literal["copied", "middle", "all"]
"""Who gets new hparams, see `PB2`."""


@dataclass(frozen=True)
class Roles:
    """The part of each due agent.

    Args:
        explorers, scouts, keepers: the agents, each in one of them.
        sources: whose weights each trains next: its own, a donor's, or None for fresh ones.
        donors: the agents that may be copied.
    """

    explorers: tuple[int, ...]
    scouts: tuple[int, ...]
    keepers: tuple[int, ...]
    sources: dict[int, int | None]
    donors: tuple[int, ...]

    @property
    def movers(self) -> tuple[int, ...]:
        """Who gets new hparams."""
        return self.explorers + self.scouts

    def surprised(self) -> "Roles":
        """Return the roles when what worked works no more: nothing is left to search around, all but donors scout."""
        stay = tuple(agent for agent in self.keepers if agent in self.donors)
        sent = tuple(agent for agent in self.keepers if agent not in stay)
        return replace(self, explorers=(), scouts=self.scouts + self.explorers + sent, keepers=stay)


def assign(view: View, live: tuple[int, ...], quantile: float, explore: Explore) -> Roles:
    """Return the roles of the agents that are due and not spent, by rank.

    Args:
        view, live: the population, and which of its agents are due.
        quantile: the share of agents replaced, and the share they copy from.
        explore: "copied", "middle" or "all", see `PB2`.
    """
    step = copy_step(view, live, quantile)
    explorers = tuple(agent for agent in live if step.sources[agent] != agent or explore == "all" or view.size == 1)
    worse_half = step.middle[: len(step.middle) // 2] if explore == "middle" and quantile else ()
    scouts = tuple(agent for agent in worse_half if agent in live)
    donors = {agent: draw_donor(view, agent, step.donors) for agent in scouts}
    sources = step.sources | {agent: donor for agent, donor in donors.items() if is_lost(view, agent, donor)}
    keepers = tuple(agent for agent in live if agent not in {*explorers, *scouts})
    return Roles(explorers, scouts, keepers, sources, step.donors)
