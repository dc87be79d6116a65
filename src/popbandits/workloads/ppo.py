"""Proximal Policy Optimisation as a trainable (section 5.1 of the paper): JAX, EnvPool, one core.

The network, the loss and the update are in `_ppo_learning`; here is the agent that collects and learns. An interval is
50,000 environment steps, counted, not assumed. Batch size, learning rate, GAE λ and clip ε may change at any interval:
nothing recompiles, since the update works on a buffer of fixed size and loops as often as there are minibatches. (Only
the robustness experiment has batches of more than 65,536 steps: a larger buffer, and one more compilation.)

    N environments    T steps of each in a rollout    O observation    A action

The score is the mean return of the episodes that ended in the interval; `score_error` is the standard error of it. The
metric `last_100` is the paper's measure, the mean return of the last 100 episodes.

A checkpoint holds the weights, the optimiser, the normalisers, the random state, the counters, the returns of the last
100 episodes and the unfinished batch. EnvPool can save neither an environment nor its random numbers: after a load (a
copy, a resume, an agent that moves to another worker) episodes begin anew, and later ones differ from those that would
have come.
"""

import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from popbandits._errors import TrainableError
from popbandits._types import Hparams
from popbandits.space import Float, Int, Space
from popbandits.workloads._environments import make_environments, spaces_of
from popbandits.workloads._episodes import Episodes, Judgement, mean_and_error, play
from popbandits.workloads._jax import jax
from popbandits.workloads._normaliser import Normaliser
from popbandits.workloads._ppo_learning import (
    DISCOUNT,
    MINIBATCH,
    advantages,
    forward,
    init_weights,
    learn,
    log_density,
    optimiser,
)
from popbandits.workloads._trees import named_leaves, with_leaves

INTERVAL = 50_000
PASSES = 10
JUDGES = 25  # copies of the environment that a finished policy is judged in
ROOM = 65_536  # transitions that the compiled update has room for; a larger batch doubles it


class PPO:
    """An agent that learns one environment; subclasses name it."""

    environment: ClassVar[str]
    count: ClassVar[int] = 25
    """Copies of the environment. An interval must have room for whole episodes in each: they are what it is scored by,
    and a copied agent begins its episodes anew."""
    space: ClassVar[Space] = Space(
        {
            "batch_size": Int(1000, 60_000),
            "gae_lambda": Float(0.9, 0.99),
            "clip": Float(0.1, 0.5),
            "lr": Float(1e-5, 1e-3, log=True),
        }
    )

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.envs = make_environments(self.environment, self.count, int(self.rng.integers(2**31)))
        seen, acted = spaces_of(self.envs)
        if len(seen.shape) != 1 or len(acted.shape) != 1:
            raise TrainableError(f"PPO needs observations and actions that are vectors; {self.environment} has others")
        size, actions = seen.shape[0], acted.shape[0]
        self.lowest, self.highest = acted.low, acted.high
        self.weights: Any = init_weights(self.rng, size, actions)
        self.moments: Any = optimiser.init(self.weights)
        self.observations, self.returns = Normaliser(size), Normaliser(1)
        self.steps = self.goal = 0
        self.episodes = Episodes()
        self._begin()

    def step(self, hparams: Hparams) -> dict[str, float]:
        """Train 50,000 environment steps, or `interval`; the score is the mean return of the episodes that end."""
        if hparams["batch_size"] < MINIBATCH:
            raise TrainableError(f"`batch_size >= {MINIBATCH}` must hold, a minibatch, but got {hparams['batch_size']}")
        self.episodes.interval.clear()
        self.goal += hparams.get("interval", INTERVAL)
        while self.steps < self.goal:
            self._collect()
            if self.size >= hparams["batch_size"]:
                self._learn(hparams)
        if self.episodes.few:
            self._play_on()
        return self.episodes.metrics() | {"steps": float(self.steps)}

    def reseed(self, seed: int) -> None:
        """Draw other random numbers from now on than the agent whose checkpoint was loaded."""
        self.rng = np.random.default_rng(seed)

    def judge(self, seed: int, episodes: int = 100) -> Judgement:
        """Return what the policy is worth: the mean return of new episodes in which it takes its mean action.

        Args:
            seed: of the environments, which are new ones.
            episodes: a multiple of 25.
        """
        envs = make_environments(self.environment, JUDGES, seed)
        return mean_and_error(play(envs, lambda seen: self._clipped(self._mean_action(seen)[1]), episodes // JUDGES))

    def _begin(self) -> None:
        """Start every episode anew."""
        self.now, _ = self.envs.reset()
        self.so_far = np.zeros(self.count)
        self.discounted = np.zeros(self.count)
        self.over = np.zeros(self.count, bool)
        self.rollout: list[dict[str, Any]] = []
        self.size = 0

    def _collect(self) -> None:
        """Take one step in every environment."""
        raw = self.now
        seen, mean = self._mean_action(raw)
        action = self._drawn(mean)
        self.now, reward, terminated, truncated, _ = self.envs.step(self._clipped(action))
        real = ~self.over  # EnvPool spends the step after an episode's end on the reset: it is no step of the agent
        ended = terminated | truncated
        self.so_far += reward * real
        self.discounted = self.discounted * DISCOUNT + reward
        every = bool(real.all())
        self.observations.update(raw if every else raw[real])
        self.returns.update((self.discounted if every else self.discounted[real])[:, None])
        self.rollout.append(
            {
                "observation": seen,
                "action": action,
                "mean": mean,
                "reward": (reward / self.returns.deviation).astype(np.float32),
                "terminated": terminated,
                "ended": ended,
                "real": real,
            }
        )
        for i in np.flatnonzero(ended):
            self.episodes.add(float(self.so_far[i]))
            self.so_far[i] = self.discounted[i] = 0.0
        self.over = ended
        taken = int(np.count_nonzero(real))
        self.steps += taken
        self.size += taken

    def _mean_action(self, raw: Any) -> tuple[Any, Any]:
        """Return normalised observations and the mean action for each."""
        seen = self.observations(raw)
        mean = forward(np, self.weights["policy"], seen)
        if not np.isfinite(mean).all():
            raise TrainableError("the policy's actions are not finite: training has diverged")  # Box2D would hang
        return seen, mean

    def _drawn(self, mean: Any) -> Any:
        deviation = np.exp(self.weights["log_std"])
        return mean + deviation * self.rng.standard_normal(mean.shape, dtype=np.float32)

    def _clipped(self, action: Any) -> Any:
        return np.clip(action, self.lowest, self.highest)

    def _play_on(self) -> None:
        """Play the episodes that are running to their ends and learn nothing from it; then begin all anew."""
        rollout, following = self.rollout, self.observations(self.now)
        running = ~self.over
        while running.any():
            action = self._drawn(self._mean_action(self.now)[1])
            self.now, reward, terminated, truncated, _ = self.envs.step(self._clipped(action))
            self.so_far += reward * running
            ended = (terminated | truncated) & running
            for i in np.flatnonzero(ended):
                self.episodes.add(float(self.so_far[i]))
            running &= ~ended
        self._begin()
        self._take_over(rollout, following)

    def _take_over(self, rollout: list[dict[str, Any]], following: Any) -> None:
        """Go on with an unfinished batch, although what comes next belongs to other episodes.

        Args:
            rollout: its steps.
            following: the normalised observations after the last of them, by which that one is valued.
        """
        self.rollout = rollout
        if rollout:
            every, nothing = np.ones(self.count, bool), np.zeros_like(rollout[-1]["action"])
            rollout[-1]["ended"] = every
            rollout.append(
                {
                    "observation": following,
                    "action": nothing,
                    "mean": nothing,
                    "reward": np.zeros(self.count, np.float32),
                    "terminated": ~every,
                    "ended": every,
                    "real": ~every,
                }
            )
        self.size = int(sum(row["real"].sum() for row in rollout))

    def transitions(self, lam: float) -> dict[str, Any]:
        """Return what the rollout taught, a row for each real step: what `loss` needs, advantages as estimated."""
        columns = {name: np.stack([row[name] for row in self.rollout]) for name in self.rollout[0]}
        # The weights are those that acted, so what acting does not need is worked out here, for all steps at once.
        seen = np.concatenate([columns["observation"], self.observations(self.now)[None]])
        values = forward(np, self.weights["value"], seen)[..., 0]
        gain = advantages(columns["reward"], values, columns["terminated"], columns["ended"], lam)
        real = columns["real"].ravel()
        flat = {name: columns[name].reshape(real.size, -1)[real] for name in ("observation", "action")}
        density = log_density(np, columns["action"], columns["mean"], self.weights["log_std"])
        flat["log_density"] = density.ravel()[real]
        flat["target"] = (gain + values[:-1]).ravel()[real]
        return flat | {"advantage": gain.ravel()[real]}

    def _learn(self, hparams: Hparams) -> None:
        """Learn from the rollout, and forget it."""
        flat = self.transitions(hparams["gae_lambda"])
        gain = flat["advantage"]
        flat["advantage"] = (gain - gain.mean()) / (gain.std() + 1e-8)
        n = len(gain)
        room = ROOM
        while room < n:
            room *= 2
        buffer = {name: _padded(column, room) for name, column in flat.items()}
        each = n // MINIBATCH
        order = np.zeros((PASSES * room // MINIBATCH, MINIBATCH), np.int32)
        for p in range(PASSES):
            order[p * each : (p + 1) * each] = self.rng.permutation(n)[: each * MINIBATCH].reshape(each, MINIBATCH)
        weights, self.moments = learn(
            self.weights,
            self.moments,
            buffer,
            order,
            PASSES * each,
            np.float32(hparams["lr"]),
            np.float32(hparams["clip"]),
        )
        self.weights = jax.tree.map(np.array, weights)
        self.rollout, self.size = [], 0

    def save(self, path: Path) -> None:
        """Write everything but the environments."""
        arrays = named_leaves((self.weights, self.moments))
        for name, normaliser in (("observations", self.observations), ("returns", self.returns)):
            arrays |= {f"{name}-mean": normaliser.mean, f"{name}-square": normaliser.square}
        for name in self.rollout[0] if self.rollout else ():
            arrays[f"rollout-{name}"] = np.stack([row[name] for row in self.rollout])
        arrays["next"] = self.observations(self.now)
        np.savez(path / "agent.npz", **arrays)
        counters = {
            "steps": self.steps,
            "goal": self.goal,
            "episodes": list(self.episodes.last),
            "counts": [self.observations.count, self.returns.count],
            "random": self.rng.bit_generator.state,
        }
        (path / "counters.json").write_text(json.dumps(counters))

    def load(self, path: Path) -> None:
        """Become what was saved, with episodes that begin anew."""
        counters = json.loads((path / "counters.json").read_text())
        with np.load(path / "agent.npz", allow_pickle=False) as saved:
            arrays = dict(saved)
        self.weights, self.moments = with_leaves((self.weights, self.moments), arrays)
        for name, normaliser, count in zip(
            ("observations", "returns"), (self.observations, self.returns), counters["counts"], strict=True
        ):
            normaliser.mean, normaliser.square = arrays[f"{name}-mean"], arrays[f"{name}-square"]
            normaliser.count = count
        self.steps, self.goal = counters["steps"], counters["goal"]
        self.episodes = Episodes(counters["episodes"])
        self.rng.bit_generator.state = counters["random"]
        self._begin()
        kept = {name.removeprefix("rollout-"): column for name, column in arrays.items() if name.startswith("rollout-")}
        rows = range(len(kept.get("mean", ())))
        self._take_over([{name: column[t] for name, column in kept.items()} for t in rows], arrays["next"])


def _padded(column: Any, room: int) -> Any:
    out = np.zeros((room, *column.shape[1:]), np.float32)
    out[: len(column)] = column
    return out


class LunarLander(PPO):
    """LunarLanderContinuous: solved at a return of 200."""

    environment = "LunarLanderContinuous-v3"


class BipedalWalker(PPO):
    """BipedalWalker: solved at a return of 300; an episode has up to 1,600 steps."""

    environment = "BipedalWalker-v3"
    count = 20


class Hopper(PPO):
    """Hopper of MuJoCo; an episode has up to 1,000 steps."""

    environment = "Hopper-v4"


class InvertedDoublePendulum(PPO):
    """InvertedDoublePendulum of MuJoCo; an episode has up to 1,000 steps."""

    environment = "InvertedDoublePendulum-v4"
