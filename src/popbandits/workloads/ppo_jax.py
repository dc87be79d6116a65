"""Proximal Policy Optimisation as pure functions: environment, network and update in one compiled call.

Everything here is written for one agent, and `jax.vmap` makes a population of it: hundreds of agents train in one call,
which is how the bench of real training judges a strategy with fifty seeds in minutes. The environments are gymnax's.

Read from top to bottom: running statistics, playing, learning, then the interval. Networks and policies are in
`_policies_jax`.

    N environments    T steps of each in a rollout    U rollouts in an interval    O observation    A action

An interval is N · T · U steps of training. Its score is the mean return of fresh episodes that are played after it; the
policy takes its mean action where actions are numbers, and draws where it chooses among some. `score_error` is the
standard error of that mean.
"""

import math
from functools import partial
from typing import Any, NamedTuple

from popbandits._errors import TrainableError
from popbandits.space import Float, Space
from popbandits.workloads._jax import jax, jnp, optax
from popbandits.workloads._learner import Learner, all_finite, mean_and_error
from popbandits.workloads._policies_jax import Continuous, Discrete, forward, init_network

try:
    import gymnax
except ModuleNotFoundError:
    raise TrainableError("PPO in JAX needs gymnax; install it with: pip install 'popbandits[gymnax]'") from None

ENVIRONMENTS = 8  # N
STEPS = 128  # T
ROLLOUTS = 8  # U
PASSES, PARTS = 4, 4  # over a rollout, and the minibatches that it is split into
VALUE_COST = 0.5
MAX_GRADIENT = 0.5
SCORED = 8  # episodes that score an interval
JUDGED = 100  # episodes that a finished policy is judged by

SPACE = Space(
    {
        "lr": Float(1e-5, 1e-2, log=True),
        "clip": Float(0.05, 0.5),
        "entropy_cost": Float(1e-4, 0.1, log=True),
        "discount": Float(0.9, 0.999, logit=True),
        "gae_lambda": Float(0.8, 0.99),
    }
)

# Running statistics: observations are normalised by them, and rewards divided by the deviation of discounted returns.


class Running(NamedTuple):
    """A mean and a variance over all that was seen."""

    count: Any
    mean: Any
    variance: Any

    @staticmethod
    def of(size: int) -> "Running":
        """Return what is assumed before anything was seen."""
        return Running(jnp.float32(1e-4), jnp.zeros(size), jnp.ones(size))

    def update(self, x: Any) -> "Running":
        """Take in a batch, n x size."""
        total = self.count + len(x)
        off = x.mean(0) - self.mean
        square = self.variance * self.count + x.var(0) * len(x) + off**2 * self.count * len(x) / total
        return Running(total, self.mean + off * len(x) / total, square / total)

    def __call__(self, x: Any) -> Any:
        """Return normalised values within ±10."""
        return jnp.clip((x - self.mean) / jnp.sqrt(self.variance + 1e-8), -10, 10)


class Agent(NamedTuple):
    """All that an agent is; `now` are its running episodes: observations, states, discounted returns so far."""

    weights: Any
    moments: Any
    seen: Running
    earned: Running
    now: Any
    key: Any


optimiser = optax.chain(optax.clip_by_global_norm(MAX_GRADIENT), optax.scale_by_adam(eps=1e-5))


class World(NamedTuple):
    """An environment, and what the trainer must know of it.

    Args:
        env, params: gymnax's.
        policy: of the kind that its actions ask for.
        inputs: O, numbers in an observation.
        longest: steps of the longest episode.
    """

    env: Any
    params: Any
    policy: Continuous | Discrete
    inputs: int
    longest: int


def make_world(environment: str) -> World:
    """Return one of gymnax's environments.

    Raises:
        TrainableError: for an environment that gymnax does not have.
    """
    if environment not in gymnax.registered_envs:
        raise TrainableError(f"gymnax has no environment {environment!r}; it has {', '.join(gymnax.registered_envs)}")
    env, params = gymnax.make(environment)
    actions = env.action_space(params)
    policy: Continuous | Discrete
    if hasattr(actions, "n"):
        policy = Discrete(int(actions.n))
    else:
        policy = Continuous(actions.shape[0], float(jnp.max(actions.high)))
    inputs = math.prod(env.observation_space(params).shape)
    return World(env, params, policy, inputs, int(params.max_steps_in_episode))


# Playing.


def reset(world: World, key: Any, count: int) -> tuple[Any, Any]:
    """Return the observations and states of so many episodes that begin."""
    seen, states = jax.vmap(world.env.reset, in_axes=(0, None))(jax.random.split(key, count), world.params)
    return seen.reshape(count, -1), states


class Played(NamedTuple):
    """One step of all environments; `after` is what followed, also where an episode ended and another began."""

    seen: Any
    states: Any
    reward: Any
    terminated: Any
    ended: Any
    after: Any


def play(world: World, key: Any, states: Any, action: Any) -> Played:
    """Take one action in each environment; an episode that ends is followed by a new one."""
    count = len(action)
    seen, states, reward, terminated, truncated, info = jax.vmap(world.env.step, in_axes=(0, 0, 0, None))(
        jax.random.split(key, count), states, world.policy.taken(action), world.params
    )
    after = info["final_observation"].reshape(count, -1)
    return Played(seen.reshape(count, -1), states, reward, terminated, terminated | truncated, after)


def returns(world: World, agent: Agent, key: Any, count: int) -> Any:
    """Return the returns of so many fresh episodes; nan when training has diverged."""
    start, key = jax.random.split(key)

    def one(carry: Any, key: Any) -> Any:
        seen, states, total, running = carry
        draw, step = jax.random.split(key)
        action = world.policy.best(draw, forward(agent.weights["policy"], agent.seen(seen)))
        played = play(world, step, states, action)
        return (played.seen, played.states, total + played.reward * running, running & ~played.ended), None

    begin = (*reset(world, start, count), jnp.zeros(count), jnp.ones(count, bool))
    (_, _, total, _), _ = jax.lax.scan(one, begin, jax.random.split(key, world.longest))
    return jnp.where(all_finite(agent.weights), total, jnp.nan)


def rollout(world: World, agent: Agent, key: Any, begin: tuple[Any, Any, Any], discount: Any) -> Any:
    """Play T steps in N environments; return where that leads and a row for each step.

    Args:
        world, agent, key: who plays what, and the random numbers of it.
        begin: observations, states, and the discounted return so far of each environment.
        discount: of the return.
    """
    policy, log_std = world.policy, agent.weights["log_std"]

    def one(carry: Any, key: Any) -> Any:
        raw, states, discounted = carry
        draw, step = jax.random.split(key)
        seen = agent.seen(raw)
        out = forward(agent.weights["policy"], seen)
        action = policy.draw(draw, out, log_std)
        played = play(world, step, states, action)
        discounted = discounted * discount + played.reward
        row = {
            "raw": raw,
            "seen": seen,
            "action": action,
            "log_chance": policy.log_chance(out, log_std, action),
            "reward": played.reward,
            "discounted": discounted,
            "terminated": played.terminated,
            "ended": played.ended,
            "after": agent.seen(played.after),
        }
        return (played.seen, played.states, discounted * ~played.ended), row

    return jax.lax.scan(one, begin, jax.random.split(key, STEPS))


# Learning.


def advantages(weights: Any, rows: Any, hparams: dict[str, Any]) -> tuple[Any, Any]:
    """Return generalised advantage estimates and the value's targets, both T x N."""
    value = forward(weights["value"], rows["seen"])[..., 0]
    after = forward(weights["value"], rows["after"])[..., 0]
    surprise = rows["reward"] + hparams["discount"] * after * ~rows["terminated"] - value
    fade = hparams["discount"] * hparams["gae_lambda"] * ~rows["ended"]

    def back(carried: Any, row: Any) -> Any:
        carried = row[0] + row[1] * carried
        return carried, carried

    _, gain = jax.lax.scan(back, jnp.zeros(rows["reward"].shape[1]), (surprise, fade), reverse=True)
    return gain, gain + value


def loss(policy: Continuous | Discrete, weights: Any, batch: Any, hparams: dict[str, Any]) -> Any:
    """Return PPO's clipped loss, the value's squared error and the entropy's share on a minibatch."""
    out = forward(weights["policy"], batch["seen"])
    ratio = jnp.exp(policy.log_chance(out, weights["log_std"], batch["action"]) - batch["log_chance"])
    gain = (batch["gain"] - batch["gain"].mean()) / (batch["gain"].std() + 1e-8)
    clipped = jnp.clip(ratio, 1 - hparams["clip"], 1 + hparams["clip"])
    surrogate = jnp.minimum(ratio * gain, clipped * gain).mean()
    value = forward(weights["value"], batch["seen"])[..., 0]
    entropy = policy.entropy(out, weights["log_std"]).mean()
    return -surrogate + VALUE_COST * ((value - batch["target"]) ** 2).mean() - hparams["entropy_cost"] * entropy


def learn(world: World, agent: Agent, batch: Any, key: Any, hparams: dict[str, Any]) -> tuple[Any, Any]:
    """Return weights and optimiser after PASSES passes over a rollout in PARTS minibatches."""

    def one(learned: Any, chosen: Any) -> Any:
        weights, moments = learned
        part = jax.tree.map(lambda column: column[chosen], batch)
        direction, moments = optimiser.update(jax.grad(partial(loss, world.policy))(weights, part, hparams), moments)
        return (jax.tree.map(lambda w, d: w - hparams["lr"] * d, weights, direction), moments), None

    orders = jax.vmap(jax.random.permutation, in_axes=(0, None))(jax.random.split(key, PASSES), ENVIRONMENTS * STEPS)
    (weights, moments), _ = jax.lax.scan(one, (agent.weights, agent.moments), orders.reshape(PASSES * PARTS, -1))
    return weights, moments


# An agent: fresh, trained for an interval, judged.


def init(world: World, key: Any) -> Agent:
    """Return an untrained agent."""
    policy, value, begin, key = jax.random.split(key, 4)
    weights = {
        "policy": init_network(policy, world.inputs, world.policy.actions, 0.01),
        "value": init_network(value, world.inputs, 1, 1.0),
        "log_std": jnp.zeros(world.policy.actions),
    }
    moments = optimiser.init(weights)
    return Agent(weights, moments, Running.of(world.inputs), Running.of(1), _begun(world, begin), key)


def _begun(world: World, key: Any) -> Any:
    """Return N episodes that begin."""
    return (*reset(world, key, ENVIRONMENTS), jnp.zeros(ENVIRONMENTS))


def step(world: World, rollouts: int, agent: Agent, hparams: dict[str, Any]) -> tuple[Agent, dict[str, Any]]:
    """Train an interval of so many rollouts, each learned from, and score it by fresh episodes."""
    key, train, score = jax.random.split(agent.key, 3)

    def one(agent: Agent, key: Any) -> Any:
        play_key, learn_key = jax.random.split(key)
        now, rows = rollout(world, agent, play_key, agent.now, hparams["discount"])
        earned = agent.earned.update(rows["discounted"].reshape(-1, 1))
        rows["reward"] = rows["reward"] / jnp.sqrt(earned.variance[0] + 1e-8)
        gain, target = advantages(agent.weights, rows, hparams)
        kept = {name: rows[name] for name in ("seen", "action", "log_chance")} | {"gain": gain, "target": target}
        batch = jax.tree.map(lambda column: column.reshape(-1, *column.shape[2:]), kept)
        weights, moments = learn(world, agent, batch, learn_key, hparams)
        seen = agent.seen.update(rows["raw"].reshape(-1, world.inputs))
        return Agent(weights, moments, seen, earned, now, agent.key), None

    agent, _ = jax.lax.scan(one, agent, jax.random.split(train, rollouts))
    mean, error = mean_and_error(returns(world, agent, score, SCORED))
    return agent._replace(key=key), {"score": mean, "score_error": error}


def reseed(world: World, agent: Agent, key: Any) -> Agent:
    """Return the agent with other random numbers to come, and episodes that begin anew."""
    begin, key = jax.random.split(key)
    return agent._replace(now=_begun(world, begin), key=key)


def judge(world: World, agent: Agent, key: Any) -> tuple[Any, Any]:
    """Return the mean return of fresh episodes and its standard error."""
    return mean_and_error(returns(world, agent, key, JUDGED))


def learner(environment: str, rollouts: int = ROLLOUTS) -> Learner:
    """Return PPO on one of gymnax's environments.

    Args:
        environment: as gymnax calls it.
        rollouts: U, of an interval.

    Raises:
        TrainableError: for an environment that gymnax does not have.
    """
    world = make_world(environment)
    return Learner(
        SPACE, partial(init, world), partial(step, world, rollouts), partial(reseed, world), partial(judge, world)
    )
