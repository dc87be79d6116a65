"""Many populations trained at once: every agent of every population in one compiled call, an interval at a time.

Each population is an ordinary `popbandits.Population` and decides on its own. What is common is the training: the
states of all agents lie in one tree of arrays, agents along the first axis. A copy is a gather along that axis.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from popbandits._random import generator
from popbandits.population import Decision, Population, Strategy
from popbandits.space import Space
from popbandits.workloads._jax import jax, jnp
from popbandits.workloads._learner import Learner


@dataclass(frozen=True)
class Judged:
    """How one population ended.

    Args:
        judged, judged_error: what the weights that reported the best score are worth on what chose nothing.
        curve: the highest score that an agent reported, in each interval.
    """

    judged: float
    judged_error: float
    curve: tuple[float, ...]


class Compiled:
    """A learner's functions for many agents. Compiling takes longer than most calls: make it once for a task."""

    def __init__(self, learner: Learner) -> None:
        self.space = learner.space
        plain = {"select": _select, "gather": _gather, "copy": partial(_copy, learner)}
        # One after another: a QR of many matrices, which orthogonal weights need, shares itself out to the very threads
        # it runs on, and two at a time on two threads wait for one another for ever.
        plain["init"] = partial(jax.lax.map, learner.init)
        mapped = {name: jax.vmap(getattr(learner, name)) for name in ("step", "judge")}
        self._functions: dict[str, Callable[..., Any]] = {
            name: jax.jit(function) for name, function in (plain | mapped).items()
        }

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._functions[name]


class Fleet:
    """The agents of some populations on one device.

    Args:
        functions: of the learner that each of them is.
        count: agents in all.
    """

    def __init__(self, functions: Compiled, count: int) -> None:
        self._functions = functions
        self.count = count
        self.state: Any = None

    def begin(self, seeds: Any, chosen: Any) -> None:
        """Give the chosen agents (a mask) fresh weights; at first, all."""
        fresh = self._functions["init"](_keys(seeds))
        self.state = fresh if self.state is None else self._functions["select"](chosen, fresh, self.state)

    def copy(self, source: Any, seeds: Any, chosen: Any) -> None:
        """Give every agent the weights of its source; those that are chosen draw other numbers from now on."""
        self.state = self._functions["copy"](self.state, source, _keys(seeds), chosen)

    def train(self, hparams: dict[str, Any], chosen: Any) -> dict[str, Any]:
        """Train the chosen agents for an interval and return the metrics of all."""
        trained, metrics = self._functions["step"](self.state, hparams)
        self.state = self._functions["select"](chosen, trained, self.state)
        return {name: np.asarray(values, dtype=float) for name, values in metrics.items()}

    def best(self, kept: Any, rows: Any, better: Any) -> Any:
        """Return one state a population: that of the row named for it where it is better, else the one kept."""
        found = self._functions["gather"](self.state, rows)
        return found if kept is None else self._functions["select"](better, found, kept)

    def judge(self, state: Any, seeds: Any) -> tuple[Any, Any]:
        """Return what states are worth, and the error of that."""
        judged, error = self._functions["judge"](state, _keys(seeds))
        return np.asarray(judged, dtype=float), np.asarray(error, dtype=float)


def _select(chosen: Any, a: Any, b: Any) -> Any:
    return jax.vmap(lambda take, x, y: jax.tree.map(lambda p, q: jnp.where(take, p, q), x, y))(chosen, a, b)


def _gather(state: Any, rows: Any) -> Any:
    return jax.tree.map(lambda column: column[rows], state)


def _copy(learner: Learner, state: Any, source: Any, keys: Any, chosen: Any) -> Any:
    moved = _gather(state, source)
    return _select(chosen, jax.vmap(learner.reseed)(moved, keys), moved)


def _keys(seeds: Any) -> Any:
    return jax.vmap(jax.random.key)(jnp.asarray(seeds, jnp.uint32))


def train_all(
    functions: Compiled,
    strategy: Callable[[], Strategy],
    seeds: Sequence[int],
    *,
    size: int,
    intervals: int,
    space: Space | None = None,
) -> list[Judged]:
    """Train a population for each seed, all in step, and judge the weights that reported the best score.

    Args:
        functions: of the learner that is trained.
        strategy: makes the strategy of a population.
        seeds: of the populations; the same seed has the same first weights and hparams under every strategy.
        size, intervals: of each population.
        space: to search in, when it is not the learner's own.
    """
    populations = [
        Population(space or functions.space, strategy(), size=size, intervals=intervals, seed=seed) for seed in seeds
    ]
    fleet = Fleet(functions, len(seeds) * size)
    decisions = [population.start() for population in populations]
    best_score, best = np.full(len(seeds), -np.inf), None
    curves: list[list[float]] = [[] for _ in seeds]
    hparams = {name: np.zeros(fleet.count, np.float32) for name in functions.space.params}
    while any(population.training for population in populations):
        trains = _prepare(fleet, populations, decisions, hparams, size)
        metrics = fleet.train({name: jnp.asarray(column) for name, column in hparams.items()}, trains)
        score = np.where(trains & np.isfinite(metrics["score"]), metrics["score"], -np.inf).reshape(-1, size)
        leading = score.argmax(1)
        top = score[np.arange(len(seeds)), leading]
        best = fleet.best(best, np.arange(len(seeds)) * size + leading, top > best_score)
        best_score = np.maximum(best_score, top)
        for curve, value in zip(curves, top.tolist(), strict=True):
            curve.append(value)
        decisions = [_told(population, metrics, trains, p * size) for p, population in enumerate(populations)]
    judged, error = fleet.judge(best, [key_of(seed, "judge") for seed in seeds])
    return [Judged(*row) for row in zip(judged.tolist(), error.tolist(), map(tuple, curves), strict=True)]


def _prepare(
    fleet: Fleet, populations: list[Population], decisions: list[Decision], hparams: dict[str, Any], size: int
) -> Any:
    """Carry out what was decided: copies, fresh starts, hparams. Return the mask of the agents that train."""
    source = np.arange(fleet.count)
    trains, copied, fresh = (np.zeros(fleet.count, bool) for _ in range(3))
    seeds = np.zeros(fleet.count, np.uint32)
    for p, (population, decision) in enumerate(zip(populations, decisions, strict=True)):
        for action in decision.trained:
            row = p * size + action.agent
            trains[row] = True
            fresh[row] = action.source is None
            copied[row] = action.source not in (None, action.agent)
            source[row] = row if action.source is None else p * size + action.source
            interval = population.training[action.agent].interval
            seeds[row] = key_of(population.seed, "copy" if copied[row] else "weights", interval, action.agent)
            for name, value in action.hparams.items():
                hparams[name][row] = value
    if fleet.state is not None and copied.any():
        fleet.copy(source, seeds, copied)
    if fresh.any():
        fleet.begin(seeds, fresh)
    return trains


def _told(population: Population, metrics: dict[str, Any], trains: Any, first: int) -> Decision:
    """Tell a population what its agents have reached, and return what it decides; nothing for one that has ended."""
    decision = Decision(())
    for agent in range(population.size):
        row = first + agent
        if trains[row]:
            error = metrics["score_error"][row] if "score_error" in metrics else math.nan
            known = float(error) if math.isfinite(error) else None
            decision = population.tell(agent, float(metrics["score"][row]), score_error=known) or decision
    return decision


def key_of(seed: int, purpose: str, interval: int = 0, agent: int = 0) -> int:
    """Return the seed of an agent's random numbers, the same under every strategy."""
    return int(generator(seed, f"real {purpose}", interval, agent).integers(2**31))
