"""How PB2 starts: the first hparams of a population, spread so that each range is covered evenly.

Each hyperparameter's range is cut into as many parts as there are agents, and every agent gets another part of each
(a Latin hypercube). If only the best third of one range is any good, four random draws miss it in one run of five, and
four spread ones never do.
"""

from typing import Any

import numpy as np

from popbandits._random import generator
from popbandits.population import Decision, Train, View
from popbandits.space import Choice, Int


def start_spread(view: View) -> Decision:
    """Return a first action for each agent: fresh weights, and hparams that cover every range evenly."""
    rng, space = generator(view.seed, "spread", 0, 0), view.space
    parts = np.array([rng.permutation(view.size) for _ in range(space.dim)]).reshape(space.dim, view.size).T
    points = (parts + rng.random((view.size, space.dim))) / view.size
    actions = []
    for agent, point in enumerate(points):
        flat = space.flat(space.decode(point))
        flat |= {name: _even(space.params[name], u) for name, u in zip(space.names, point.tolist(), strict=True)}
        actions.append(Train(agent, space.nested(flat)))
    return Decision(tuple(actions))


def _even(param: Any, u: float) -> Any:
    """Return the value at a part of the range; whole numbers and choices have equal parts of it, also at the ends."""
    if isinstance(param, Choice):
        return param.values[int(u * len(param.values))]
    if isinstance(param, Int) and not param.log:
        return param.low + int(u * (param.high - param.low + 1))
    return param.from_unit(u)
