"""IMPALA as a trainable (section 5.2 of the paper): actors that lag behind a learner, corrected by V-trace.

Read from top to bottom: the lens, the network, V-trace, the loss, the optimiser, then the agent that plays and learns.
On one core actors and learner take turns; the actors take the learner's weights only every LAG unrolls, as actors on
other machines would. Learning rate, the optimiser's epsilon and the entropy cost are arguments of the compiled
functions, so a change of them recompiles nothing.

    N environments    T steps of each in an unroll    A actions

The score is the mean return of the games that ended in the interval; `score_error` is the standard error of it. The
metric `last_100` is the paper's measure, the mean return of the last 100 games.

A checkpoint holds the weights, the optimiser, the lens, the random state, the counters and the returns of the last 100
games. EnvPool can save neither an environment nor its random numbers: after a load (a copy, a resume, an agent that
moves to another worker) games begin anew, and later ones differ from those that would have come.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from popbandits._errors import TrainableError
from popbandits._types import Hparams
from popbandits.space import Float, Space
from popbandits.workloads._environments import make_environments, spaces_of
from popbandits.workloads._episodes import Episodes, Judgement, mean_and_error, play
from popbandits.workloads._jax import jax, jnp
from popbandits.workloads._trees import named_leaves, with_leaves

ENVIRONMENTS = 32
JUDGES = 25  # copies of the environment that a finished policy is judged in
UNROLL = 20
LAG = 4
DISCOUNT = 0.99
VALUE_COST = 0.5
MAX_GRADIENT = 40.0
DECAY = 0.99  # of RMSProp's mean square
CONVOLUTIONS = ((16, 8, 4), (32, 4, 2))  # channels, width, stride
HIDDEN = 256

# The lens: frames of a game are nearly the same. Unless what they share is taken away, the value's mean is most of
# every gradient, and ball and paddle are too faint to be learned from. Observations that are no images pass unchanged.


class Lens(NamedTuple):
    """What frames were like so far; the network sees how one differs from that."""

    count: Any
    mean: Any
    square: Any
    """The mean squared deviation, one for all pixels: a pixel that is seldom lit is not to be blown up."""


def first_lens(shape: tuple[int, ...]) -> Lens:
    """Return what is assumed before a frame was seen, with the weight of one; without images it stays so."""
    square = 128.0**2 if len(shape) == 3 else 1.0
    return Lens(np.float32(1), np.zeros(shape, np.float32), np.float32(square))


def look(lens: Lens, seen: Any) -> Lens:
    """Return the lens after more frames, n of them."""
    count = lens.count + np.float32(len(seen))
    share = len(seen) / count
    mean = lens.mean + share * (seen.mean(0, dtype=np.float32) - lens.mean)
    return Lens(count, mean, lens.square + share * (((seen - mean) ** 2).mean() - lens.square))


# The network: convolutions for images, a dense layer for what there is, then logits and value.


def init_weights(rng: np.random.Generator, shape: tuple[int, ...], actions: int) -> dict[str, Any]:
    """Return fresh weights for observations of this shape: (channels, height, width) of an image, or (size,)."""
    convolutions = []
    size = shape[0]
    if len(shape) == 3:
        channels, side = shape[0], shape[1]
        for out, width, stride in CONVOLUTIONS:
            convolutions.append(_layer(rng, (width, width, channels, out)))
            channels, side = out, (side - width) // stride + 1
        size = side * side * channels
    return {
        "convolutions": convolutions,
        "hidden": _layer(rng, (size, HIDDEN)),
        "policy": _layer(rng, (HIDDEN, actions), 0.01),
        "value": _layer(rng, (HIDDEN, 1), 0.1),
    }


def _layer(rng: np.random.Generator, shape: tuple[int, ...], gain: float = 2**0.5) -> dict[str, Any]:
    spread = gain / np.prod(shape[:-1]) ** 0.5
    w = spread * rng.standard_normal(shape)
    return {"w": w.astype(np.float32), "b": np.zeros(shape[-1], np.float32)}


def forward(weights: Any, lens: Lens, x: Any) -> tuple[Any, Any]:
    """Return logits (n x A) and values (n) of n observations."""
    x = (x - lens.mean) / jnp.sqrt(lens.square)
    if weights["convolutions"]:
        x = x.transpose(0, 2, 3, 1)
        for layer, (_, _, stride) in zip(weights["convolutions"], CONVOLUTIONS, strict=True):
            x = jax.lax.conv_general_dilated(
                x, layer["w"], (stride, stride), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )
            x = jax.nn.relu(x + layer["b"])
        x = x.reshape(len(x), -1)
    x = jax.nn.relu(x @ weights["hidden"]["w"] + weights["hidden"]["b"])
    logits = x @ weights["policy"]["w"] + weights["policy"]["b"]
    return logits, (x @ weights["value"]["w"] + weights["value"]["b"])[:, 0]


act = jax.jit(forward)


# Learning: V-trace corrects for actions that older weights chose.


@partial(jax.jit)
def vtrace(ratio: Any, reward: Any, discount: Any, real: Any, value: Any) -> tuple[Any, Any]:
    """Return V-trace's targets and advantages, both T x N.

    Args:
        ratio: of the learner's to the actors' probability of each action, T x N.
        reward, discount: of each step; the discount is 0 where an episode was terminated.
        real: False for the step that EnvPool spends on a reset: nothing is learned from it or carried across it.
        value: the learner's values, T + 1 rows: the last is of what followed.
    """
    clipped = jnp.minimum(1.0, ratio)
    surprise = clipped * (reward + discount * value[1:] - value[:-1]) * real

    def back(carried: Any, step: tuple[Any, Any, Any, Any]) -> tuple[Any, Any]:
        surprise, clipped, discount, real = step
        carried = real * (surprise + discount * clipped * carried)
        return carried, carried

    zero = jnp.zeros_like(value[0])
    _, above = jax.lax.scan(back, zero, (surprise, clipped, discount, real), reverse=True)
    target = value[:-1] + above
    following = jnp.concatenate([target[1:], value[-1:]])
    return target, clipped * (reward + discount * following - value[:-1])


def loss(weights: Any, lens: Lens, row: dict[str, Any], entropy_cost: Any) -> Any:
    """Return the loss of one step of all environments, summed as the paper's stack does: epsilon depends on it."""
    logits, value = forward(weights, lens, row["observation"])
    log_policy = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(log_policy, row["action"][:, None], axis=-1)[:, 0]
    entropy = -(jnp.exp(log_policy) * log_policy).sum(-1)
    parts = -chosen * row["advantage"] + VALUE_COST * 0.5 * (row["target"] - value) ** 2 - entropy_cost * entropy
    return (parts * row["real"]).sum()


@partial(jax.jit, donate_argnums=0)
def add_gradient(total: Any, weights: Any, lens: Lens, row: dict[str, Any], entropy_cost: Any) -> Any:
    """Return the gradient so far plus that of one more row; rows of 32 images stay in the processor's cache."""
    return jax.tree.map(jnp.add, total, jax.grad(loss)(weights, lens, row, entropy_cost))


@partial(jax.jit, donate_argnums=(0, 1))
def descend(weights: Any, square: Any, gradient: Any, rate: Any, epsilon: Any) -> tuple[Any, Any]:
    """Return weights and the mean squared gradient after one step of RMSProp."""
    norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradient)))
    shrink = jnp.minimum(1.0, MAX_GRADIENT / (norm + 1e-6))
    gradient = jax.tree.map(lambda g: shrink * g, gradient)
    square = jax.tree.map(lambda s, g: DECAY * s + (1 - DECAY) * g**2, square, gradient)
    return jax.tree.map(lambda w, g, s: w - rate * g / jnp.sqrt(s + epsilon), weights, gradient, square), square


class IMPALA:
    """An agent that learns one environment; subclasses name it."""

    environment: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}
    """EnvPool's own, for this environment."""
    scale: ClassVar[float] = 1.0
    """What rewards are multiplied with before learning, so that values are near those of Atari's clipped rewards."""
    interval: ClassVar[int] = 500_000
    """Environment steps between two reports."""
    space: ClassVar[Space] = Space(
        {
            "epsilon": Float(0.01, 0.5),
            "lr": Float(1e-5, 1e-3, log=True),
            "entropy_cost": Float(0.001, 0.1, log=True),
        }
    )

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.envs = make_environments(self.environment, ENVIRONMENTS, int(self.rng.integers(2**31)), **self.options)
        seen, actions = spaces_of(self.envs)
        if not hasattr(actions, "n"):
            raise TrainableError(f"IMPALA needs actions to choose among; those of {self.environment} are continuous")
        self.weights: Any = init_weights(self.rng, seen.shape, int(actions.n))
        self.lens = first_lens(seen.shape)
        self.square: Any = jax.tree.map(np.zeros_like, self.weights)
        self.steps = self.goal = 0
        self.games = Episodes()
        self._begin()

    def step(self, hparams: Hparams) -> dict[str, float]:
        """Train one interval; the score is the mean return of the games that end in it."""
        self.games.interval.clear()
        self.goal += hparams.get("interval", self.interval)
        while self.steps < self.goal:
            actors = jax.tree.map(jnp.array, self.weights)  # a copy: learning overwrites the learner's own
            for _ in range(LAG):
                rows = self._play(actors)
                self._learn(rows, hparams)
                if self.weights["convolutions"]:
                    self.lens = look(self.lens, np.concatenate([row["observation"] for row in rows[:: UNROLL // 4]]))
        if self.games.few:
            self._play_on()
        return self.games.metrics() | {"steps": float(self.steps)}

    def reseed(self, seed: int) -> None:
        """Draw other random numbers from now on than the agent whose checkpoint was loaded."""
        self.rng = np.random.default_rng(seed)

    def judge(self, seed: int, episodes: int = 100) -> Judgement:
        """Return what the policy is worth: the mean return of new games, played in full with rewards as they are.

        Among actions to choose from there is no mean: the policy draws them as it does in training.

        Args:
            seed: of the environments, which are new ones, and of the draws.
            episodes: a multiple of 25.
        """
        rng = np.random.default_rng(seed)
        envs = make_environments(self.environment, JUDGES, seed)
        return mean_and_error(play(envs, lambda seen: self._drawn(self.weights, seen, rng)[0], episodes // JUDGES))

    def _begin(self) -> None:
        """Start every game anew."""
        self.now, _ = self.envs.reset()
        self.so_far = np.zeros(ENVIRONMENTS)
        self.over = np.zeros(ENVIRONMENTS, bool)

    def _play(self, actors: Any) -> list[dict[str, Any]]:
        """Return an unroll that the actors played, one row for each step of all environments."""
        rows: list[dict[str, Any]] = []
        for _ in range(UNROLL):
            action, logits = self._drawn(actors, self.now, self.rng)
            log_policy = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
            row = {"observation": self.now, "action": action, "real": ~self.over}
            row["log_policy"] = np.take_along_axis(log_policy, action[:, None], axis=-1)[:, 0]
            self.now, row["reward"], terminated, truncated, info = self.envs.step(row["action"])
            raw = info.get("reward", row["reward"])
            row["reward"] = np.float32(self.scale) * row["reward"]
            row["discount"] = (DISCOUNT * ~terminated).astype(np.float32)
            self._count(raw, info.get("terminated", terminated) | truncated, row["real"])
            self.over = terminated | truncated
            rows.append(row)
        return rows

    def _drawn(self, weights: Any, seen: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return actions that the policy drew, and its logits."""
        logits = np.asarray(act(weights, self.lens, seen)[0])
        if not np.isfinite(logits).all():
            raise TrainableError("the policy is not finite: training has diverged")
        return (logits + rng.gumbel(size=logits.shape)).argmax(-1).astype(np.int32), logits

    def _play_on(self) -> None:
        """Play the games that are running to their ends and learn nothing from it; then begin all anew."""
        running = np.ones(ENVIRONMENTS, bool)
        while running.any():
            self.now, reward, terminated, truncated, info = self.envs.step(
                self._drawn(self.weights, self.now, self.rng)[0]
            )
            self.so_far += info.get("reward", reward) * running
            ended = (info.get("terminated", terminated) | truncated).astype(bool) & running
            for i in np.flatnonzero(ended):
                self.games.add(float(self.so_far[i]))
            running &= ~ended
        self._begin()

    def _learn(self, rows: list[dict[str, Any]], hparams: Hparams) -> None:
        """Take one step of the optimiser on an unroll."""
        observations = [*(row["observation"] for row in rows), self.now]
        logits, values = zip(*(act(self.weights, self.lens, seen) for seen in observations), strict=True)
        unroll = {name: np.stack([row[name] for row in rows]) for name in rows[0] if name != "observation"}
        now = jax.nn.log_softmax(np.stack(logits[:-1]))
        chosen = np.take_along_axis(np.asarray(now), unroll["action"][..., None], axis=-1)[..., 0]
        ratio = np.exp(chosen - unroll["log_policy"])
        target, advantage = vtrace(ratio, unroll["reward"], unroll["discount"], unroll["real"], np.stack(values))
        gradient = jax.tree.map(np.zeros_like, self.weights)
        for row, goal, gain in zip(rows, np.asarray(target), np.asarray(advantage), strict=True):
            kept = {name: row[name] for name in ("observation", "action", "real")}
            kept |= {"target": goal, "advantage": gain}
            gradient = add_gradient(gradient, self.weights, self.lens, kept, np.float32(hparams["entropy_cost"]))
        rate, epsilon = np.float32(hparams["lr"]), np.float32(hparams["epsilon"])
        self.weights, self.square = descend(self.weights, self.square, gradient, rate, epsilon)

    def _count(self, reward: Any, over: Any, real: Any) -> None:
        """Count steps and returns; a game goes on when a life is lost, and its rewards count as they are."""
        self.steps += int(real.sum())
        self.so_far += reward
        for i in np.flatnonzero(over):
            self.games.add(float(self.so_far[i]))
            self.so_far[i] = 0.0

    def save(self, path: Path) -> None:
        """Write everything but the environments."""
        np.savez(path / "agent.npz", **named_leaves((self.weights, self.square, self.lens)))
        counters = {
            "steps": self.steps,
            "goal": self.goal,
            "games": list(self.games.last),
            "random": self.rng.bit_generator.state,
        }
        (path / "counters.json").write_text(json.dumps(counters))

    def load(self, path: Path) -> None:
        """Become what was saved, with games that begin anew."""
        counters = json.loads((path / "counters.json").read_text())
        with np.load(path / "agent.npz", allow_pickle=False) as saved:
            self.weights, self.square, self.lens = with_leaves((self.weights, self.square, self.lens), saved)
        self.steps, self.goal = counters["steps"], counters["goal"]
        self.games = Episodes(counters["games"])
        self.rng.bit_generator.state = counters["random"]
        self._begin()


class CartPole(IMPALA):
    """CartPole: small enough for a minute; solved at a return of 475 of 500."""

    environment = "CartPole-v1"
    scale = 0.01
    interval = 50_000


class Breakout(IMPALA):
    """Breakout of Atari: rewards are clipped and a lost life ends an episode for learning, not for the score."""

    environment = "Breakout-v5"
    options: ClassVar[dict[str, Any]] = {"episodic_life": True, "reward_clip": True}


class SpaceInvaders(IMPALA):
    """Space Invaders of Atari, played as Breakout is."""

    environment = "SpaceInvaders-v5"
    options: ClassVar[dict[str, Any]] = {"episodic_life": True, "reward_clip": True}
