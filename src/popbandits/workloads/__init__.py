"""The paper's tasks as trainables. They need the extra `rl`: pip install 'popbandits[rl]'."""

from popbandits.workloads._episodes import Judgement

PPO_TASKS = {
    "LunarLanderContinuous-v3": "LunarLander",
    "BipedalWalker-v3": "BipedalWalker",
    "Hopper-v4": "Hopper",
    "InvertedDoublePendulum-v4": "InvertedDoublePendulum",
}
"""Environment to the class in `popbandits.workloads.ppo`."""

IMPALA_TASKS = {"CartPole-v1": "CartPole", "Breakout-v5": "Breakout", "SpaceInvaders-v5": "SpaceInvaders"}
"""Environment to the class in `popbandits.workloads.impala`."""

CNN_TASKS = {"cifar10": "CIFAR10", "fashion-mnist": "FashionMNIST"}
"""Data set to the class in `popbandits.workloads.cnn`."""

PPO_JAX_TASKS = {
    "Pendulum-v1": "Pendulum",
    "Acrobot-v1": "Acrobot",
    "CartPole-v1": "CartPole",
    "MountainCarContinuous-v0": "MountainCar",
    "Breakout-MinAtar": "Breakout",
    "SpaceInvaders-MinAtar": "SpaceInvaders",
}
"""Environment of gymnax to the trainable in `popbandits.workloads.vectorised`."""

BUILT_IN = {
    **{f"ppo/{name}": ("popbandits.workloads.ppo", found) for name, found in PPO_TASKS.items()},
    **{f"ppo-jax/{name}": ("popbandits.workloads.vectorised", found) for name, found in PPO_JAX_TASKS.items()},
    **{f"impala/{name}": ("popbandits.workloads.impala", found) for name, found in IMPALA_TASKS.items()},
    **{f"cnn/{name}": ("popbandits.workloads.cnn", found) for name, found in CNN_TASKS.items()},
}
"""Name on the command line to module and class."""

__all__ = ["BUILT_IN", "CNN_TASKS", "IMPALA_TASKS", "PPO_JAX_TASKS", "PPO_TASKS", "Judgement"]
