"""Random search: every agent keeps the hparams it drew. The baseline that assumes nothing."""

from dataclasses import dataclass

from popbandits.population import Decision, Stop, View
from popbandits.strategies._copying import keep, spent, start_at_random
from popbandits.strategies._options import options


@options
@dataclass(frozen=True)
class RandomSearch:
    """Draw hparams once for each agent, uniformly, and train them to the end.

    Examples:
        >>> RandomSearch()
        RandomSearch()
    """

    def start(self, view: View) -> Decision:
        return start_at_random(view)

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        return Decision(tuple(Stop(agent) if spent(view, agent) else keep(view, agent) for agent in due))
