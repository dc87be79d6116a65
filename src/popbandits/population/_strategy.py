"""The contract between the population and a strategy."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from popbandits._types import Floats, Hparams
from popbandits.population._events import Decision
from popbandits.population._history import History
from popbandits.space import Space


class Job(NamedTuple):
    """What an agent is training.

    Args:
        agent, interval: who, and which interval.
        hparams: with what.
        point: the hparams in the unit cube, shape (dim,).
        values: the hparams as numbers in the user's units, see `Space.to_values`.
        source: whose weights it began with; None for fresh ones.
        before: the row of the score it began with; -1 when there was none.
        score_before: that score; nan when there was none.
        age: how many intervals the weights will have trained by the end of it.
    """

    agent: int
    interval: int
    hparams: Hparams
    point: Floats
    values: list[float]
    source: int | None
    before: int
    score_before: float
    age: int


@dataclass(frozen=True)
class View:
    """All that a strategy may look at.

    Args:
        space, size, intervals, seed: the population's settings; `intervals` is the budget of one agent.
        history: every report so far.
        last: for each agent the row of its latest report; -1 when it has none.
        training: the agents that are training now.
        notes: the notes of the latest decision.
    """

    space: Space
    size: int
    intervals: int
    seed: int
    history: History
    last: tuple[int, ...]
    training: Mapping[int, Job]
    notes: Mapping[str, Any]


class Strategy(Protocol):
    """Decides who copies whom and which hparams come next.

    A strategy is a frozen set of options. It keeps nothing between calls but the notes of its decisions, and draws
    random numbers only from `popbandits.strategies.generator`: so a decision depends on the view alone.

    It may also have three methods that explain it to people; `status` and the figures ask for them, and PB2 has all.
    `beliefs(notes, space, size)` says what the notes of a decision mean, as `Beliefs`. `expected(history, notes, size)`
    returns a function from points of the cube and an interval to the score that it expected of them. `explain(view)`
    says where the agents stand, as `Explanation`.
    """

    def start(self, view: View) -> Decision:
        """Return the first actions: fresh weights (source None) for the agents that start."""

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        """Return what the agents that have just reported do next.

        Args:
            view: everything known.
            due: their ids, ascending: all that were training when in step, else one.

        Returns:
            An action for each of them, or for idle agents in their stead. An agent without an action stays idle.
        """
