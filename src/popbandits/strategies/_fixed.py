"""A schedule that was learned elsewhere, followed to the letter. What `replay` trains."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from popbandits._errors import OptionError
from popbandits.population import Action, Decision, Stop, Train, View
from popbandits.strategies._copying import next_interval
from popbandits.strategies._options import options


@options
@dataclass(frozen=True)
class FixedSchedule:
    """Every agent trains fresh weights under the same schedule; agents differ by their seed alone.

    Args:
        schedule: the hparams of interval 1, 2, …; the last stay until the end.
    """

    schedule: tuple[Mapping[str, Any], ...] = ()

    def __post_init__(self) -> None:
        if not self.schedule:
            raise OptionError("a schedule needs the hparams of one interval at least, but got none")
        object.__setattr__(self, "schedule", tuple(self.schedule))

    def start(self, view: View) -> Decision:
        return Decision(tuple(Train(agent, self.schedule[0]) for agent in range(view.size)))

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        return Decision(tuple(self._next(view, agent) for agent in due))

    def _next(self, view: View, agent: int) -> Action:
        interval = next_interval(view, agent)
        if interval > view.intervals:
            return Stop(agent)
        return Train(agent, self.schedule[min(interval, len(self.schedule)) - 1], agent)
