"""RLlib's PPO at the settings of `benchmarks.ppo`, on one core; prints its steps a second.

python rllib_ppo.py BipedalWalker-v3
"""

import os

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0")

import sys
import time

import gymnasium
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.tune.registry import register_env

SECONDS = 45


def main(name: str) -> None:
    """Train, and print the steps a second after the first iteration."""
    torch.set_num_threads(1)
    if "LunarLanderContinuous" in name:
        register_env(name, lambda _: gymnasium.make("LunarLander-v3", continuous=True))
    ray.init(num_cpus=1, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    config = (
        PPOConfig()
        .environment(name)
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=1,
            observation_filter="MeanStdFilter",
            rollout_fragment_length="auto",
        )
        .learners(num_learners=0)
        .training(
            train_batch_size_per_learner=4000,
            minibatch_size=128,
            num_epochs=10,
            lr=3e-4,
            lambda_=0.95,
            clip_param=0.2,
            gamma=0.99,
        )
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[32, 32], fcnet_activation="tanh"))
    )
    algorithm = config.build_algo()
    algorithm.train()
    steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        algorithm.train()
        steps += 4000
    print(steps / (time.perf_counter() - start))


if __name__ == "__main__":
    main(sys.argv[1])
