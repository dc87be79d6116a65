"""LunarLander for intervals of a quarter of their length."""

from popbandits.workloads import ppo


class LunarLander(ppo.LunarLander):
    """With fewer environments, so that in an interval of 12,500 steps an episode ends in every one of them."""

    count = 10
