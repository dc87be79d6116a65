"""Populations with a past of a given length, to time one decision on."""

from collections.abc import Iterator

import numpy as np

from popbandits.population import Decision, Event, Population, Report, Strategy, Train
from popbandits.space import Float, Space

DIM = 4


def population_with_past(strategy: Strategy, *, size: int, rows: int, known: int = 0) -> Population:
    """Return a population that owes a decision after `rows` reports, with a moving optimum and noise.

    Args:
        strategy: decides.
        size, rows: agents, and reports so far.
        known: how many reports before the end the strategy last decided, so that it has notes to start warm from.
    """
    space = Space({f"x{j}": Float(0.0, 1.0) for j in range(DIM)})
    intervals = rows // size + 2
    events = list(_past(space, size, rows))
    if known:
        before = [event for event in events if isinstance(event, Report)][: rows - known]
        earlier = Population.restore(space, strategy, _past(space, size, len(before)), size=size, intervals=intervals)
        earlier.overdue()
        last = max(i for i, event in enumerate(events) if isinstance(event, Decision))
        decision = events[last]
        assert isinstance(decision, Decision)
        events[last] = Decision(decision.actions, earlier.notes)
    return Population.restore(space, strategy, events, size=size, intervals=intervals)


def _past(space: Space, size: int, rows: int) -> Iterator[Event]:
    rng = np.random.default_rng(0)
    scores = np.zeros(size)
    chosen = [space.sample(rng) for _ in range(size)]
    yield Decision(tuple(Train(agent, chosen[agent]) for agent in range(size)))
    for interval in range(1, rows // size + 1):
        for agent in range(size):
            x = np.array(list(chosen[agent].values()))
            scores[agent] += np.exp(-4.0 * ((x - 0.5 - 0.3 * np.sin(interval / 20)) ** 2).sum())
            yield Report(agent, interval, float(scores[agent] + 0.1 * rng.standard_normal()))
        if interval < rows // size:
            for agent in rng.permutation(size)[: max(1, size // 4)]:
                chosen[agent] = space.sample(rng)
            yield Decision(tuple(Train(agent, chosen[agent], agent) for agent in range(size)))
