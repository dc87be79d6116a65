from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popbandits as pb
from popbandits.workloads import PPO_TASKS, _ppo_learning, ppo
from popbandits.workloads._environments import make_environments
from popbandits.workloads._normaliser import Normaliser
from tests.drive import Interrupt
from tests.workloads._effect import changes_what_is_learned

HPARAMS = {"batch_size": 1000, "gae_lambda": 0.95, "clip": 0.2, "lr": 3e-4}


@pytest.fixture(name="short")
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals of 2,500 steps."""
    monkeypatch.setattr(ppo, "INTERVAL", 2500)


def leaves(tree: Any) -> list[Any]:
    import jax

    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def test_advantages_are_the_discounted_sum_of_surprises() -> None:
    rng = np.random.default_rng(0)
    T, N, lam = 12, 3, 0.9
    rewards, values = (rng.standard_normal((n, N)).astype(np.float32) for n in (T, T + 1))
    terminated = rng.random((T, N)) < 0.15
    ended = terminated | (rng.random((T, N)) < 0.1)
    found = _ppo_learning.advantages(rewards, values, terminated, ended, lam)
    for i in range(N):
        for t in range(T):
            total, weight = 0.0, 1.0
            for k in range(t, T):
                total += weight * (rewards[k, i] + 0.99 * values[k + 1, i] * (not terminated[k, i]) - values[k, i])
                weight *= 0.99 * lam
                if ended[k, i]:
                    break
            assert found[t, i] == pytest.approx(total, abs=1e-4)


def test_the_normaliser_follows_mean_and_deviation() -> None:
    rng = np.random.default_rng(0)
    data = rng.normal(3.0, 2.0, (5000, 2))
    normaliser = Normaliser(2)
    for part in np.split(data, 50):
        normaliser.update(part)
    np.testing.assert_allclose(normaliser.mean, data.mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(normaliser.deviation, data.std(axis=0), atol=1e-2)


def test_a_normaliser_of_nothing_stays_as_it_is() -> None:
    normaliser = Normaliser(2)
    normaliser.update(np.ones((3, 2)))
    before = normaliser.mean.copy()
    normaliser.update(np.ones((0, 2)))
    np.testing.assert_array_equal(normaliser.mean, before)


def test_all_episodes_may_end_at_once() -> None:
    agent = ppo.BipedalWalker(0)
    agent.envs.step(np.zeros((agent.count, 4), np.float32))
    agent.over = np.ones(agent.count, bool)  # as after a step in which every episode ended
    agent.step(HPARAMS | {"interval": 2000})
    assert np.isfinite(agent.observations.mean).all()


@pytest.mark.usefixtures("short")
def test_a_policy_that_has_diverged_is_an_error_and_not_a_hang() -> None:
    agent = ppo.BipedalWalker(0)
    agent.weights["policy"][0]["w"][0, 0] = np.nan
    with pytest.raises(pb.TrainableError, match="not finite"):
        agent.step(HPARAMS)


def test_a_batch_of_less_than_a_minibatch_is_refused() -> None:
    with pytest.raises(pb.TrainableError, match="`batch_size >= 128` must hold, a minibatch, but got 100"):
        ppo.LunarLander(0).step(HPARAMS | {"batch_size": 100})


class Pendulum(ppo.PPO):
    environment = "Pendulum-v1"
    count = 4


@pytest.mark.usefixtures("short")
def test_actions_are_clipped_to_the_environments_own_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Pendulum(0)
    taken = []
    step = agent.envs.step

    def heard(action: Any) -> Any:
        taken.append(action)
        return step(action)

    monkeypatch.setattr(agent.envs, "step", heard)
    agent.weights["log_std"] = np.full_like(agent.weights["log_std"], 3.0)
    agent.step(HPARAMS)
    assert (np.min(taken), np.max(taken)) == (-2.0, 2.0)


@pytest.mark.parametrize("task", [ppo.LunarLander, ppo.BipedalWalker, ppo.Hopper, ppo.InvertedDoublePendulum])
def test_the_longest_episode_ends_within_an_interval(task: type[ppo.PPO]) -> None:
    longest = make_environments(task.environment, 1, 0).spec.config.max_episode_steps
    assert ppo.INTERVAL // task.count >= longest


@pytest.mark.usefixtures("short")
def test_steps_are_counted_whatever_the_batch_size() -> None:
    agent = ppo.LunarLander(0)
    for interval, batch in enumerate((1000, 7000, 1333), 1):
        metrics = agent.step(HPARAMS | {"batch_size": batch})
        assert 0 <= metrics["steps"] - interval * 2500 < ppo.LunarLander.count


@pytest.mark.usefixtures("short")
def test_hparams_change_what_is_learned_and_recompile_nothing() -> None:
    agent = ppo.LunarLander(1)
    agent.step(HPARAMS)
    compiled = _ppo_learning.learn._cache_size()
    before = leaves(agent.weights)
    agent.step(HPARAMS | {"batch_size": 1700, "lr": 1e-9, "clip": 0.4, "gae_lambda": 0.9})
    still = max(float(np.abs(a - b).max()) for a, b in zip(before, leaves(agent.weights), strict=True))
    agent.step(HPARAMS | {"lr": 1e-3})
    moved = max(float(np.abs(a - b).max()) for a, b in zip(before, leaves(agent.weights), strict=True))
    assert still < 1e-5 < 1e-2 < moved
    assert _ppo_learning.learn._cache_size() == compiled


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(("name", "value"), [("gae_lambda", 0.9), ("clip", 0.02), ("lr", 1e-3), ("batch_size", 1250)])
def test_every_hparam_alone_changes_what_is_learned(name: str, value: float) -> None:
    assert changes_what_is_learned(ppo.LunarLander, HPARAMS, name, value)


@pytest.mark.usefixtures("short")
def test_a_checkpoint_holds_everything_but_the_environments(tmp_path: Path) -> None:
    agent = ppo.LunarLander(2)
    agent.step(HPARAMS | {"batch_size": 1700})  # leaves a batch unfinished
    agent.save(tmp_path)
    taught = agent.transitions(0.95)
    other = ppo.LunarLander(3)
    other.step(HPARAMS)
    other.load(tmp_path)
    for a, b in zip(leaves((agent.weights, agent.moments)), leaves((other.weights, other.moments)), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (other.steps, other.goal, other.size) == (agent.steps, agent.goal, agent.size)
    assert other.episodes.last == agent.episodes.last
    assert other.rng.bit_generator.state == agent.rng.bit_generator.state
    np.testing.assert_array_equal(other.observations.mean, agent.observations.mean)
    assert agent.size > 0
    assert other.rollout[-1]["ended"].all()
    for name, column in other.transitions(0.95).items():
        np.testing.assert_array_equal(column, taught[name], err_msg=name)
    # What a checkpoint left out the first would still have, and the other not: in equal environments both go on alike.
    for each in (agent, other):
        each.envs = make_environments(each.environment, each.count, 7)
        each.load(tmp_path)
    assert agent.step(HPARAMS) == other.step(HPARAMS)
    for a, b in zip(leaves((agent.weights, agent.moments)), leaves((other.weights, other.moments)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_it_learns_to_land() -> None:
    agent = ppo.LunarLander(0)
    scores = [agent.step(HPARAMS | {"batch_size": 4000})["score"] for _ in range(4)]
    assert scores[-1] > scores[0] + 60
    assert scores[-1] > 20


@pytest.mark.parametrize("name", PPO_TASKS.values())
@pytest.mark.usefixtures("short")
def test_every_task_trains(name: str) -> None:
    agent = getattr(ppo, name)(0)
    assert np.isfinite(agent.step(HPARAMS)["score"])


@pytest.mark.usefixtures("short")
def test_a_population_trains_and_resumes(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        pb.tune(
            ppo.LunarLander,
            ppo.LunarLander.space,
            population=2,
            intervals=3,
            strategy=pb.PBT(),
            executor=pb.Inline(),
            directory=tmp_path / "run",
            callbacks=[Interrupt(after=3)],
        )
    assert not pb.load(tmp_path / "run").finished
    run = pb.resume(tmp_path / "run", executor=pb.Inline())
    assert run.finished
    assert not run.failures
    assert run.history.interval.tolist().count(3) == 2
