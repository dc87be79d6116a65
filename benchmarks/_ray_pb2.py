"""Ray's PB2 as a strategy: its own functions, driven with the rows that its scheduler would have kept."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from popbandits.population import Decision, Stop, Train, View
from popbandits.space import Float, Int
from popbandits.strategies._copying import copy_step, keep, spent, start_at_random


@dataclass(frozen=True)
class RayPB2:
    """Copy as PB2 does, then ask Ray's `_explore` for new hparams. It knows no Choice, and only the linear scale."""

    quantile: float = 0.25

    def start(self, view: View) -> Decision:
        """Return random hparams, the same as every strategy's."""
        return start_at_random(view)

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        """Return what Ray's scheduler would do in step."""
        import sklearn
        from ray.tune.schedulers.pb2 import _explore

        live = tuple(agent for agent in due if not spent(view, agent))
        if not live:
            return Decision(tuple(Stop(agent) for agent in due))
        bounds = {
            name: (float(param.low), float(param.high))
            for name, param in view.space.params.items()
            if isinstance(param, (Float, Int))
        }
        data, current = _data(view, list(bounds)), None
        actions = {}
        for agent, donor in copy_step(view, live, self.quantile).sources.items():
            if donor == agent or donor is None:
                actions[agent] = keep(view, agent)
                continue
            config = view.history.hparams(view.last[donor])
            # Its kernel is scikit-learn's guest: looking at every argument again takes a third of the time.
            with warnings.catch_warnings(), sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
                warnings.simplefilter("ignore")
                np.random.seed(int(view.seed + 7919 * len(view.history) + agent) % 2**32)
                chosen, data = _explore(data, bounds, current, str(donor), str(agent), config)
            inside = {name: type(config[name])(np.clip(chosen[name], *bounds[name])) for name in bounds}
            new = np.array([[inside[name] for name in bounds]])
            current = new if current is None else np.concatenate([current, new])
            actions[agent] = Train(agent, inside, donor)
        return Decision(tuple(actions.get(agent, Stop(agent)) for agent in due))


def _data(view: View, names: list[str]) -> Any:
    """Return the table that Ray's scheduler keeps: a row for each report, and one for each copy that it explored.

    Ray explores, and notes what the copy began with, only if the donor has gained something under hparams that it still
    had; else it copies those, too. `known` has the interval from which that holds of an agent.
    """
    import pandas as pd

    history = view.history
    rows: list[list[Any]] = []
    seen: set[tuple[str, *tuple[float, ...]]] = set()
    known: dict[str, int] = {}
    for i in range(len(history)):
        hparams, agent, interval = history.hparams(i), str(history.agent[i]), int(history.interval[i])
        values = [hparams[name] for name in names]
        before = int(history.before[i])
        if before >= 0 and history.donor[i] != history.agent[i]:
            begun = int(history.interval[before])
            if known.get(str(history.donor[i]), interval) <= begun:
                rows.append([agent, begun, *values, float(history.score[before])])
                seen.add((agent, *values))
        if (agent, *values) in seen:
            known.setdefault(agent, interval)
        seen.add((agent, *values))
        rows.append([agent, interval, *values, float(history.score[i])])
    return pd.DataFrame(rows, columns=["Trial", "Time", *names, "Reward"])
