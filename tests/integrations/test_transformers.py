"""A Hugging Face Trainer as a trainable: saved and loaded whole, hparams in effect, intervals that end in time."""

from pathlib import Path
from typing import Any

import pytest

import popbandits as pb

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

pytest.importorskip("transformers")

from examples.transformers_copying import SPACE, make_trainer  # noqa: E402
from popbandits.integrations.transformers import trainable  # noqa: E402

Agent: Any = trainable(make_trainer, steps=3)
HPARAMS = {"learning_rate": 0.01, "weight_decay": 0.05, "batch_size": 8}


def test_a_trainer_is_a_sound_trainable() -> None:
    found = pb.check_trainable(Agent, SPACE, metric="eval_loss")
    assert [finding.text for finding in found if not finding.ok] == []


def test_hparams_are_where_training_reads_them(tmp_path: Path) -> None:
    agent = Agent(0)
    metrics = agent.step(HPARAMS)
    assert agent.hparams_in_effect() == HPARAMS
    assert agent.trainer.state.global_step == 3
    assert "eval_loss" in metrics
    decays = [group["weight_decay"] for group in agent.trainer.optimizer.param_groups]
    assert decays == [0.05, 0.0], "biases and norms do not decay"
    (tmp_path / "saved").mkdir()
    agent.save(tmp_path / "saved")
    other = Agent(1)
    other.load(tmp_path / "saved")
    changed = HPARAMS | {"learning_rate": 0.001, "batch_size": 16}
    other.step(changed)
    assert other.hparams_in_effect() == changed, "what was saved does not overwrite what is asked for"
    assert [group["lr"] for group in other.trainer.optimizer.param_groups] == [0.001, 0.001]
    assert other.trainer.state.global_step == 6


def test_what_a_trainer_cannot_do_is_said() -> None:
    with pytest.raises(pb.TrainableError, match="none of learning_rate, weight_decay and batch_size"):
        Agent(0).step({"warmup": 3})
    short = Agent(0)
    short.trainer.args.max_steps = 2
    with pytest.raises(pb.TrainableError, match="must cover all intervals"):
        short.step(HPARAMS)
    with pytest.raises(pb.OptionError, match="steps >= 1"):
        trainable(make_trainer, steps=0)
