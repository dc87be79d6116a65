"""The score of an interval is its own: which episodes count, and what happens when few or none end."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popbandits.workloads import _episodes, impala, ppo
from popbandits.workloads._episodes import FEW, Episodes, play

HPARAMS = {"batch_size": 1000, "gae_lambda": 0.95, "clip": 0.2, "lr": 3e-4}


def test_the_score_is_the_mean_of_the_interval_and_its_error_that_of_the_mean() -> None:
    episodes = Episodes([100.0] * 100)
    for value in (1.0, 2.0, 3.0, 6.0):
        episodes.add(value)
    found = episodes.metrics()
    assert found["score"] == 3.0
    assert found["score_error"] == pytest.approx(np.std([1, 2, 3, 6], ddof=1) / 2)
    assert found["episodes"] == 4
    assert found["last_100"] == pytest.approx((96 * 100 + 12) / 100)
    assert episodes.few == (FEW > 4)


def test_a_copy_is_scored_by_its_own_episodes_and_not_by_its_donors(tmp_path: Path) -> None:
    donor, copy = ppo.LunarLander(0), ppo.LunarLander(1)
    donor.step(HPARAMS | {"interval": 10_000})
    donor.episodes.last.extend([1e6] * 100)  # a donor that was lucky beyond measure
    donor.save(tmp_path)
    copy.load(tmp_path)
    found = copy.step(HPARAMS | {"interval": 10_000})
    assert found["score"] < 1000 < found["last_100"]
    assert FEW <= found["episodes"] < 1000


@pytest.mark.parametrize("task", [ppo.LunarLander, impala.CartPole])
def test_an_interval_in_which_few_episodes_end_is_played_on_without_learning(
    task: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_episodes, "FEW", 10**6)  # an interval of IMPALA's is long enough for some games of CartPole
    agent = task(0)
    hparams = HPARAMS | {"epsilon": 0.1, "entropy_cost": 0.01, "interval": 100}
    found = agent.step(hparams)
    assert found["episodes"] >= len(agent.so_far)
    assert found["score_error"] > 0
    assert found["steps"] == agent.steps < 5000  # what was played on is not counted
    assert agent.so_far.tolist() == [0.0] * len(agent.so_far)  # and all episodes have begun anew


def test_a_batch_that_playing_on_interrupts_is_valued_by_what_followed_it() -> None:
    agent = ppo.LunarLander(0)
    agent.goal = 250
    while agent.steps < agent.goal:
        agent._collect()
    before = agent.transitions(0.95)
    weights = agent.weights["policy"][0]["w"].copy()
    seen = agent.observations.count
    agent._play_on()
    assert agent.size == 250
    assert agent.observations.count == seen
    np.testing.assert_array_equal(agent.weights["policy"][0]["w"], weights)
    for name, column in agent.transitions(0.95).items():
        np.testing.assert_array_equal(column, before[name], err_msg=name)


class Counting:
    """Two environments: episodes of the first last one step and return 0, of the second three steps and return 3."""

    def reset(self) -> tuple[Any, dict[str, Any]]:
        self.at = np.zeros(2, int)
        return self.at, {}

    def step(self, action: Any) -> tuple[Any, ...]:
        reset = self.at == np.array([1, 3])  # the step after an end is the reset's
        self.at = np.where(reset, 0, self.at + 1)
        reward = np.array([0.0, 1.0]) * ~reset
        ended = self.at == np.array([1, 3])
        return self.at, reward, ended, np.zeros(2, bool), {}


def test_a_judgement_takes_as_many_episodes_of_every_environment() -> None:
    assert sorted(play(Counting(), lambda seen: seen, 4)) == [0.0] * 4 + [3.0] * 4


def test_a_policy_is_judged_by_new_episodes_and_its_mean_action() -> None:
    agent = ppo.LunarLander(0)
    state = agent.rng.bit_generator.state
    agent.weights["log_std"] += 5.0  # whoever drew actions would crash at once
    one, same, other = (agent.judge(seed, 25) for seed in (1, 1, 2))
    assert one == same != other
    assert one.over == 25
    assert agent.rng.bit_generator.state == state
    assert not agent.episodes.last


def test_a_policy_that_chooses_is_judged_as_it_draws() -> None:
    agent = impala.CartPole(0)
    one, same, other = (agent.judge(seed, 25) for seed in (1, 1, 2))
    assert one == same != other
    assert 10 < one.score < 100
    assert 0 < one.error < one.score


@pytest.mark.parametrize("task", [ppo.LunarLander, impala.CartPole])
def test_a_copy_can_be_given_other_numbers(task: type[Any], tmp_path: Path) -> None:
    agent = task(0)
    agent.save(tmp_path)
    twin = task(1)
    twin.load(tmp_path)
    assert twin.rng.bit_generator.state == agent.rng.bit_generator.state
    twin.reseed(3)
    assert twin.rng.bit_generator.state == np.random.default_rng(3).bit_generator.state
