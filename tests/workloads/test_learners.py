"""Learners: pure functions of one agent, mapped over many."""

from typing import Any

import numpy as np
import pytest

import popbandits as pb
from popbandits.workloads import _policies_jax, fashion_jax, ppo_jax, text_jax
from popbandits.workloads._jax import jax, jnp
from popbandits.workloads._learner import Learner
from popbandits.workloads.data import Images
from tests.workloads.test_cnn import drawn


def trained(learner: Learner, hparams: list[dict[str, float]], intervals: int, seed: int = 0) -> tuple[Any, Any]:
    """Train an agent for each dict of hparams; return the states and the last metrics."""
    keys = jax.random.split(jax.random.key(seed), len(hparams))
    state = jax.jit(jax.vmap(learner.init))(keys)
    step = jax.jit(jax.vmap(learner.step))
    columns = {name: jnp.array([row[name] for row in hparams], jnp.float32) for name in hparams[0]}
    metrics: Any = {}
    for _ in range(intervals):
        state, metrics = step(state, columns)
    return state, jax.tree.map(np.asarray, metrics)


PPO = {"lr": 4e-3, "clip": 0.15, "entropy_cost": 5e-3, "discount": 0.97, "gae_lambda": 0.95}


@pytest.mark.slow
def test_ppo_learns_to_swing_up_and_each_hparam_matters() -> None:
    learner = ppo_jax.learner("Pendulum-v1")
    others = [PPO | change for change in ({"lr": 1e-5}, {"clip": 0.5}, {"entropy_cost": 0.1}, {"discount": 0.9})]
    state, metrics = trained(learner, [PPO, PPO, *others, PPO | {"gae_lambda": 0.8}], 7)
    assert max(metrics["score"][:2]) > -500  # untrained: about -1,200
    assert metrics["score"][2] < -900  # a learning rate of next to nothing
    judged, error = jax.jit(jax.vmap(learner.judge))(state, jax.random.split(jax.random.key(1), 7))
    assert abs(float(judged[0]) - metrics["score"][0]) < 5 * (float(error[0]) + metrics["score_error"][0])


@pytest.mark.slow
def test_a_hparam_that_changes_alone_changes_what_is_learned_and_seeds_repeat() -> None:
    learner = ppo_jax.learner("MountainCarContinuous-v0", 1)
    changes = {"lr": 1e-3, "clip": 0.4, "entropy_cost": 0.1, "discount": 0.99, "gae_lambda": 0.8}
    rows = [PPO, *(PPO | {name: value} for name, value in changes.items())]
    keys = jnp.stack([jax.random.key(0)] * (len(rows) + 1))
    state = jax.jit(jax.vmap(learner.init))(keys)
    columns = {name: jnp.array([row[name] for row in [*rows, PPO]], jnp.float32) for name in PPO}
    after, _ = jax.jit(jax.vmap(learner.step))(state, columns)
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(after.weights)]
    for i in range(1, len(rows)):
        assert any((leaf[i] != leaf[0]).any() for leaf in leaves), list(changes)[i - 1]
    assert all((leaf[-1] == leaf[0]).all() for leaf in leaves)


def test_advantages_are_the_discounted_sum_of_surprises() -> None:
    rng = np.random.default_rng(0)
    T, N = 9, 3
    weights = {"value": _policies_jax.init_network(jax.random.key(0), 2, 1, 1.0)}
    rows = {name: jnp.asarray(rng.standard_normal((T, N, 2)), jnp.float32) for name in ("seen", "after")}
    rows["reward"] = jnp.asarray(rng.standard_normal((T, N)), jnp.float32)
    rows["terminated"] = jnp.asarray(rng.random((T, N)) < 0.2)
    rows["ended"] = rows["terminated"] | jnp.asarray(rng.random((T, N)) < 0.1)
    gain, target = ppo_jax.advantages(weights, rows, {"discount": 0.9, "gae_lambda": 0.8})
    forward = _policies_jax.forward
    value, after = (np.asarray(forward(weights["value"], rows[name])[..., 0]) for name in ("seen", "after"))
    for i in range(N):
        for t in range(T):
            total, weight = 0.0, 1.0
            for k in range(t, T):
                ahead = 0.9 * after[k, i] * (not rows["terminated"][k, i])
                total += weight * (float(rows["reward"][k, i]) + ahead - value[k, i])
                weight *= 0.9 * 0.8
                if rows["ended"][k, i]:
                    break
            assert gain[t, i] == pytest.approx(total, abs=1e-4)
            assert target[t, i] == pytest.approx(total + value[t, i], abs=1e-4)


def test_running_statistics_are_those_of_all_that_was_seen() -> None:
    data = np.random.default_rng(0).normal(3.0, 2.0, (1000, 2)).astype(np.float32)
    running = ppo_jax.Running.of(2)
    for part in np.split(data, 10):
        running = running.update(jnp.asarray(part))
    np.testing.assert_allclose(running.mean, data.mean(0), rtol=1e-3)
    np.testing.assert_allclose(running.variance, data.var(0), rtol=1e-2)


@pytest.mark.parametrize("policy", [_policies_jax.Continuous(2, 1.0), _policies_jax.Discrete(3)], ids=str)
def test_policies_are_distributions(policy: Any) -> None:
    out, log_std = jnp.asarray([0.3, -0.2, 0.5])[: policy.actions], jnp.log(jnp.full(policy.actions, 0.7))
    keys = jax.random.split(jax.random.key(0), 4000)
    actions = jax.vmap(lambda key: policy.draw(key, out, log_std))(keys)
    surprise = -jax.vmap(lambda action: policy.log_chance(out, log_std, action))(actions).mean()
    assert float(surprise) == pytest.approx(float(policy.entropy(out, log_std)), abs=0.05)


def test_an_environment_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(pb.TrainableError, match="gymnax has no environment 'Pendulum'; it has CartPole-v1"):
        ppo_jax.learner("Pendulum")


def test_a_network_learns_clothes_and_is_judged_by_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fashion_jax, "TRAINED", 1000)
    images = Images(*drawn(1600, (28, 28, 1), 1), *drawn(400, (28, 28, 1), 2))
    monkeypatch.setattr(fashion_jax, "load_images", lambda name: images)
    learner = fashion_jax.learner()
    good = {"lr": 0.1, "momentum": 0.5, "weight_decay": 1e-5, "dropout": 0.0}
    state, metrics = trained(learner, [good, good | {"lr": 1e-3}, good | {"lr": 3.0, "momentum": 0.99}], 3)
    assert metrics["score"][0] > 90 > metrics["score"][1]
    judged, error = jax.vmap(learner.judge)(state, jax.random.split(jax.random.key(0), 3))
    assert abs(float(judged[0]) - metrics["score"][0]) < 8
    assert 0 <= float(error[0]) < 5
    assert not metrics["score"][2] > 50  # diverged: nan, or as good as none


@pytest.mark.slow
def test_a_transformer_learns_to_predict_text() -> None:
    learner = text_jax.learner()
    good = {"lr": 5e-3, "momentum": 0.9, "weight_decay": 1e-3, "dropout": 0.0}
    state, metrics = trained(learner, [good, good | {"lr": 1e-4}], 4)
    assert metrics["score"][0] > -4.0 > metrics["score"][1]
    judged, error = jax.vmap(learner.judge)(state, jax.random.split(jax.random.key(0), 2))
    assert abs(float(judged[0]) - metrics["score"][0]) < 0.6
    assert 0.03 < float(error[0]) < 0.2


def test_the_texts_are_split_and_made_of_known_symbols() -> None:
    text = text_jax.symbols()
    assert text.min() >= 0
    assert text.max() < text_jax.SYMBOLS
    data = text_jax.split(text)
    assert data.scored.shape == (text_jax.SCORED, text_jax.CONTEXT + 1)
    np.testing.assert_array_equal(data.judged[-1], text[-text_jax.CONTEXT - 1 :])
    assert len(text_jax.fingerprint()) == 12


def test_a_character_is_not_predicted_from_those_behind_it() -> None:
    agent = text_jax.init(text_jax.split(text_jax.symbols()), jax.random.key(0))
    text = np.arange(2 * text_jax.CONTEXT).reshape(2, -1) % text_jax.SYMBOLS
    other = text.copy()
    other[:, 20:] = 0
    one, two = (np.asarray(text_jax.forward(agent.weights, jnp.asarray(t))) for t in (text, other))
    np.testing.assert_allclose(one[:, :20], two[:, :20], atol=1e-5)
    assert (one[:, 20:] != two[:, 20:]).any()
