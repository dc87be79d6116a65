"""What goes into the core and what comes out: reports, decisions made of actions, and longer budgets.

The list of these events is the whole state of a population: `Population.restore` needs nothing else. What there is one
of for every agent and interval is a named tuple: long runs are resumed sooner than with frozen dataclasses.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

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


class Train(NamedTuple):
    """An agent trains one more interval.

    Args:
        agent: which one.
        hparams: to train with.
        source: whose weights it trains: its own id to go on, another's to copy, None for fresh ones.
    """

    agent: int
    hparams: Hparams
    source: int | None = None


class Stop(NamedTuple):
    """An agent trains no more.

    Args:
        agent: which one.
    """

    agent: int


Action: TypeAlias = Train | Stop
"""What an agent does next."""


@dataclass(frozen=True)
class Decision:
    """The actions that a strategy released together. Iterating over a decision yields its actions.

    Args:
        actions: at most one for each agent.
        notes: what the strategy learned on the way, as plain JSON: shown to people, and handed back to the strategy at
            its next decision.

    Examples:
        >>> decision = Decision((Train(0, {"lr": 0.1}), Stop(1)))
        >>> [action.agent for action in decision]
        [0, 1]
        >>> [action.hparams for action in decision.trained]
        [{'lr': 0.1}]
    """

    actions: tuple[Action, ...]
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Action]:
        return iter(self.actions)

    @property
    def trained(self) -> tuple[Train, ...]:
        """The actions of the agents that train on."""
        return tuple(action for action in self.actions if isinstance(action, Train))

    def to_json(self) -> dict[str, Any]:
        """Return the decision as plain JSON."""
        return {"actions": [_action_to_json(action) for action in self.actions], "notes": dict(self.notes)}

    @staticmethod
    def from_json(body: Mapping[str, Any]) -> "Decision":
        """Return the decision that `to_json` wrote."""
        return Decision(tuple(map(_action_from_json, body["actions"])), body["notes"])


def _action_to_json(action: Action) -> dict[str, Any]:
    if isinstance(action, Stop):
        return {"agent": action.agent, "stop": True}
    return {"agent": action.agent, "hparams": action.hparams, "source": action.source}


def _action_from_json(body: Mapping[str, Any]) -> Action:
    if body.get("stop"):
        return Stop(body["agent"])
    return Train(body["agent"], body["hparams"], body["source"])


@dataclass(frozen=True)
class Extension:
    """The budget has grown: each agent may train this many intervals in all.

    Args:
        intervals: the new budget of one agent.
    """

    intervals: int


Event: TypeAlias = Report | Decision | Extension
