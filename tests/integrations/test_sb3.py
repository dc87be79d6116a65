from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popbandits as pb

pytest.importorskip("stable_baselines3")
pytestmark = pytest.mark.filterwarnings("default")  # gymnasium's and torch's own

from stable_baselines3 import PPO, SAC, TD3  # noqa: E402

from popbandits.integrations import sb3  # noqa: E402


def ppo(seed: int) -> Any:
    return PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=64, seed=seed, device="cpu")


def sac(seed: int) -> Any:
    return SAC("MlpPolicy", "Pendulum-v1", learning_starts=50, ent_coef=0.1, buffer_size=500, seed=seed, device="cpu")


def td3(seed: int) -> Any:
    return TD3("MlpPolicy", "Pendulum-v1", learning_starts=50, buffer_size=500, seed=seed, device="cpu")


def learns_its_entropy(seed: int) -> Any:
    return SAC("MlpPolicy", "Pendulum-v1", seed=seed, device="cpu")


PPOAgent = sb3.trainable(ppo, steps=64)
LongPPOAgent = sb3.trainable(ppo, steps=512)
SACAgent = sb3.trainable(sac, steps=100)
TD3Agent = sb3.trainable(td3, steps=100)
AutoAgent = sb3.trainable(learns_its_entropy, steps=10)

CHANGES: dict[str, tuple[Any, dict[str, Any]]] = {
    "ppo": (
        PPOAgent,
        {"learning_rate": 1e-4, "clip_range": 0.3, "ent_coef": 0.01, "gamma": 0.9, "gae_lambda": 0.8}
        | {"batch_size": 32, "n_steps": 32, "n_epochs": 2},
    ),
    "sac": (SACAgent, {"learning_rate": 1e-4, "ent_coef": 0.02, "gamma": 0.9, "batch_size": 32, "tau": 0.01}),
    "td3": (TD3Agent, {"learning_rate": 1e-4, "gamma": 0.9, "batch_size": 32, "target_policy_noise": 0.1}),
}


def weights(agent: Any) -> Any:
    return np.concatenate([value.detach().numpy().ravel() for value in agent.model.policy.state_dict().values()])


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_changed_hparams_are_in_effect_on_a_live_model_and_after_a_load(name: str, tmp_path: Path) -> None:
    make, changed = CHANGES[name]
    agent, donor = make(0), make(1)
    first = {key: agent_value(agent, key) for key in changed}
    for trained in (agent, donor):
        trained.step(first)
    donor.save(tmp_path)
    agent.load(tmp_path)
    assert np.array_equal(weights(agent), weights(donor))
    agent.step(changed)
    assert agent.hparams_in_effect() == pytest.approx(changed)
    assert agent.model.num_timesteps > donor.model.num_timesteps
    if name == "ppo":
        assert agent.model.rollout_buffer.observations.shape[0] == 32


def agent_value(agent: Any, name: str) -> Any:
    return sb3._get(agent.model, name)


@pytest.mark.slow
def test_a_learning_rate_of_next_to_nothing_moves_next_to_nothing() -> None:
    def moved(rate: float) -> float:
        agent: Any = PPOAgent(0)
        before = weights(agent)
        agent.step({"learning_rate": rate})
        return float(np.abs(weights(agent) - before).max())

    assert moved(1e-9) < 1e-6 < moved(1e-2)


@pytest.mark.slow
def test_a_replay_buffer_travels_with_its_agent(tmp_path: Path) -> None:
    donor: Any = SACAgent(1)
    donor.step({"gamma": 0.9})
    donor.save(tmp_path)
    agent: Any = SACAgent(0)
    agent.load(tmp_path)
    assert agent.model.replay_buffer.pos == 100
    assert np.array_equal(agent.model.replay_buffer.rewards[:100], donor.model.replay_buffer.rewards[:100])


@pytest.mark.slow
def test_a_population_of_models_is_tuned_by_worker_processes(tmp_path: Path) -> None:
    space = {"learning_rate": pb.Float(1e-5, 1e-2, log=True)}
    run = pb.tune(
        PPOAgent, space, population=2, intervals=3, executor=pb.Processes(workers=1), directory=tmp_path / "run"
    )
    assert run.finished
    assert not run.failures
    assert np.isfinite(run.best.score)


@pytest.mark.slow
def test_the_score_is_of_the_episodes_that_ended_in_the_interval(tmp_path: Path) -> None:
    agent = LongPPOAgent(0)
    found = agent.step({"learning_rate": 1e-4})
    assert found["episodes"] > 3
    own = list(agent.model.ep_info_buffer)[-int(found["episodes"]) :]
    returns = [episode["r"] for episode in own]
    assert found["score"] == pytest.approx(np.mean(returns))
    assert found["score_error"] == pytest.approx(np.std(returns, ddof=1) / len(returns) ** 0.5)
    agent.model.ep_info_buffer.extend([{"r": 1e6, "l": 1, "t": 1}] * 50)  # what a lucky donor would leave
    assert agent.step({"learning_rate": 1e-4})["score"] < 1000


@pytest.mark.slow
def test_a_copy_acts_otherwise_than_its_donor_when_it_is_reseeded(tmp_path: Path) -> None:
    donor = PPOAgent(0)
    donor.step({"learning_rate": 1e-4})
    donor.save(tmp_path)
    reached = []
    for seed in (5, 5, 6):
        copy = PPOAgent(1)
        copy.load(tmp_path)
        copy.reseed(seed)
        copy.step({"learning_rate": 1e-4})
        reached.append(weights(copy))
    np.testing.assert_array_equal(reached[0], reached[1])
    assert (reached[0] != reached[2]).any()


@pytest.mark.parametrize(
    ("make", "hparams", "told"),
    [
        (
            PPOAgent,
            {"warmth": 1.0},
            "PPO has no hyperparameter 'warmth' that can change in training; it has l",
        ),
        (SACAgent, {"clip_range": 0.2}, "SAC has no hyperparameter 'clip_range'"),
        (AutoAgent, {"ent_coef": 0.2}, "ent_coef is learned by this model"),
    ],
)
def test_what_cannot_be_changed_is_refused_by_name(make: Any, hparams: dict[str, float], told: str) -> None:
    with pytest.raises(pb.TrainableError, match=told):
        make(0).step(hparams)


def test_a_trainable_without_a_name_is_sent_to_the_workers(tmp_path: Path) -> None:
    run = pb.tune(
        sb3.trainable(ppo, steps=64), {"gamma": (0.9, 0.99)}, population=2, intervals=1, directory=tmp_path / "run"
    )
    assert run.finished


def cart(seed: int, width: int = 8, *, steps: int = 64) -> Any:
    kept = {"net_arch": [width]}
    return PPO("MlpPolicy", "CartPole-v1", n_steps=steps, batch_size=32, policy_kwargs=kept, seed=seed, device="cpu")


def test_a_models_settings_are_the_users_config_or_bound_beforehand(tmp_path: Path) -> None:
    agent = sb3.trainable(partial(cart, steps=32), steps=32)
    run = pb.tune(
        agent,
        {"learning_rate": pb.Float(1e-4, 1e-2, log=True)},
        population=2,
        intervals=1,
        config={"width": 4},
        executor=pb.Processes(workers=1),
        directory=tmp_path / "run",
        progress=False,
    )
    assert run.finished
    made = agent(0, width=4)  # type: ignore[call-arg]
    assert made.model.n_steps == 32
    assert made.model.policy.mlp_extractor.policy_net[0].out_features == 4
    with pytest.raises(pb.TrainableError, match="its settings are: width, steps"):
        pb.tune(agent, {"learning_rate": pb.Float(0, 1)}, population=2, intervals=1, config={"widht": 4})


def test_steps_that_cannot_be_are_refused() -> None:
    with pytest.raises(pb.OptionError, match="`steps >= 1` must hold, but got steps=0"):
        sb3.trainable(ppo, steps=0)


def test_the_statistics_of_a_normalising_wrapper_travel_with_a_copy(tmp_path: Path) -> None:
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    def make(seed: int) -> Any:
        return PPO("MlpPolicy", VecNormalize(make_vec_env("CartPole-v1", 2, seed=seed)), n_steps=32, seed=seed)

    donor, copy = (sb3.trainable(make, steps=64)(seed) for seed in (0, 1))
    donor.step({"learning_rate": 1e-3, "gamma": 0.9})
    assert donor.model.get_vec_normalize_env().gamma == 0.9, "rewards are scaled by what they are discounted with"
    donor.save(tmp_path)
    copy.load(tmp_path)
    theirs, ours = donor.model.get_vec_normalize_env(), copy.model.get_vec_normalize_env()
    assert theirs.obs_rms.count > 60
    assert ours.obs_rms.count == theirs.obs_rms.count
    assert (ours.obs_rms.mean == theirs.obs_rms.mean).all()
    assert ours.ret_rms.var == theirs.ret_rms.var


def test_environments_that_tell_no_returns_are_refused() -> None:
    import gymnasium
    from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

    def bare(seed: int) -> Any:
        return PPO("MlpPolicy", DummyVecEnv([lambda: gymnasium.make("CartPole-v1")]), n_steps=32, seed=seed)

    def watched(seed: int) -> Any:
        return PPO("MlpPolicy", VecMonitor(DummyVecEnv([lambda: gymnasium.make("CartPole-v1")])), n_steps=32, seed=seed)

    with pytest.raises(pb.TrainableError, match="tell no returns, so there is no score: wrap each in"):
        sb3.trainable(bare, steps=64)(0)
    assert np.isfinite(sb3.trainable(watched, steps=200)(0).step({"learning_rate": 1e-3})["score"])
    assert sb3.trainable(bare, steps=64, score=lambda _: 1.0)(0).step({"learning_rate": 1e-3}) == 1.0


@pytest.mark.parametrize("name", ["TQC", "QRDQN", "TRPO", "MaskablePPO", "RecurrentPPO"])
def test_algorithms_of_sb3_contrib_are_saved_and_loaded(tmp_path: Path, name: str) -> None:
    contrib = pytest.importorskip("sb3_contrib")
    off_policy = {"learning_starts": 10, "buffer_size": 200}
    options = off_policy if name in ("TQC", "QRDQN") else {"n_steps": 32}
    policy = "MlpLstmPolicy" if name == "RecurrentPPO" else "MlpPolicy"
    env: Any = "Pendulum-v1" if name == "TQC" else "CartPole-v1"
    if name == "MaskablePPO":
        import gymnasium
        from sb3_contrib.common.wrappers import ActionMasker

        env = ActionMasker(gymnasium.make(env), lambda _: np.ones(2, dtype=bool))

    def make(seed: int) -> Any:
        return getattr(contrib, name)(policy, env, batch_size=16, seed=seed, **options)

    donor, copy = (sb3.trainable(make, steps=64)(seed) for seed in (0, 1))
    donor.step({"learning_rate": 1e-3, "gamma": 0.95})
    assert donor.hparams_in_effect() == {"learning_rate": 1e-3, "gamma": 0.95}
    donor.save(tmp_path)
    copy.load(tmp_path)
    for theirs, ours in zip(donor.model.policy.parameters(), copy.model.policy.parameters(), strict=True):
        assert (theirs == ours).all()
    changed = {"learning_rate": 1e-4, "gamma": 0.9} | ({"n_steps": 48} if "n_steps" in options else {})
    copy.step(changed)
    assert copy.hparams_in_effect() == changed
