"""The paper's tasks as trainables. They need the extra `rl`: pip install 'popbandits[rl]'."""

PPO_TASKS = {
    "LunarLanderContinuous-v3": "LunarLander",
    "BipedalWalker-v3": "BipedalWalker",
    "Hopper-v4": "Hopper",
    "InvertedDoublePendulum-v4": "InvertedDoublePendulum",
}
"""Environment to the class in `popbandits.workloads.ppo`."""

__all__ = ["PPO_TASKS"]
