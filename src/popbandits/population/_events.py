"""What goes into the core and what comes out: reports, and decisions made of actions.

The list of these events is the whole state of a population: `Population.restore` needs nothing else. What there is one
of for every agent and interval is a named tuple: long runs are resumed sooner than with frozen dataclasses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Union

from popbandits._types import Hparams


class Report(NamedTuple):
    """An agent has finished an interval.

    Args:
        agent: which one.
        interval: the number of the interval, from 1.
        score: higher is better; nan and infinities rank last.
        score_error: the standard error of the score; None where the trainable gave none.
    """

    agent: int
    interval: int
    score: float
    score_error: float | None = None


class Action(NamedTuple):
    """What an agent does next.

    Args:
        agent: which one.
        hparams: to train the next interval with; None when it stops.
        source: whose weights it trains: its own id to go on, another's to copy, None for fresh ones.
        stop: it trains no more.
    """

    agent: int
    hparams: Hparams | None
    source: int | None = None
    stop: bool = False


@dataclass(frozen=True)
class Decision:
    """The actions a strategy released together.

    Args:
        actions: at most one for each agent.
        notes: what the strategy learned on the way, as plain JSON: shown to people, and handed back to the strategy at
            its next decision.
    """

    actions: tuple[Action, ...]
    notes: Mapping[str, Any] = field(default_factory=dict)


Event = Union[Report, Decision]
