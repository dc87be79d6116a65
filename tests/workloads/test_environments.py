import pytest

import popbandits as pb
from popbandits.workloads import impala, ppo
from popbandits.workloads._environments import make_environments


def test_an_unknown_environment_is_named_with_those_close_to_it() -> None:
    with pytest.raises(pb.TrainableError, match=r"no environment 'LunarLandr-v3'; close to it: .*LunarLander"):
        make_environments("LunarLandr-v3", 1, 0)
    with pytest.raises(pb.TrainableError, match=r"no environment 'qqqq'$"):
        make_environments("qqqq", 1, 0)


def test_actions_that_a_trainer_cannot_take_are_named() -> None:
    class Discrete(ppo.PPO):
        environment = "CartPole-v1"

    class Continuous(impala.IMPALA):
        environment = "Pendulum-v1"

    with pytest.raises(pb.TrainableError, match=r"that are vectors; CartPole-v1 has others"):
        Discrete(0)
    with pytest.raises(pb.TrainableError, match=r"those of Pendulum-v1 are continuous"):
        Continuous(0)
