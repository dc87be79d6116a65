from pathlib import Path
from typing import Any

import pytest

import popbandits as pb

pytest.importorskip("lightning")
pytestmark = pytest.mark.filterwarnings("default")  # Lightning's and torch's own

import torch  # noqa: E402

from examples.lightning_digits import SPACE, Agent, Digits, Network  # noqa: E402
from popbandits.integrations.lightning import trainable  # noqa: E402

START = {"lr": 0.01, "weight_decay": 1e-4, "dropout": 0.1, "batch_size": 64}
CHANGED = {"lr": 0.2, "weight_decay": 1e-3, "dropout": 0.3, "batch_size": 128}


@pytest.mark.slow
def test_changed_hparams_survive_the_restoring_of_a_checkpoint(tmp_path: Path) -> None:
    donor: Any = Agent(1)
    donor.step(START)
    donor.save(tmp_path)
    agent: Any = Agent(0)
    agent.step(START)
    agent.load(tmp_path)
    agent.step(CHANGED)
    assert agent.hparams_in_effect() == pytest.approx(CHANGED)


@pytest.mark.slow
def test_a_copy_goes_on_from_the_donors_weights_and_momentum(tmp_path: Path) -> None:
    donor: Any = Agent(1)
    donor.step(START)
    donor.save(tmp_path)
    agent: Any = Agent(0)
    agent.load(tmp_path)
    agent.step(START | {"lr": 1e-12, "weight_decay": 0.0})
    assert torch.allclose(agent.module.first.weight, donor.module.first.weight, atol=1e-6)
    assert agent.module.trainer.optimizers[0].state  # the momentum came along
    assert agent.module.trainer.current_epoch == 2


@pytest.mark.slow
def test_the_example_learns_to_read_digits(tmp_path: Path) -> None:
    run = pb.tune(
        Agent,
        SPACE,
        population=4,
        intervals=6,
        metric="accuracy",
        executor=pb.Processes(workers=1),
        directory=tmp_path / "run",
    )
    assert not run.failures
    assert run.best.score > 0.6


def test_a_name_that_is_nowhere_is_refused_with_those_that_are() -> None:
    agent: Any = Agent(0)
    with pytest.raises(pb.TrainableError, match=r"'warmth' is neither in the optimiser, which has .*lr.*momentum"):
        agent.step({"warmth": 1.0})


def test_epochs_that_cannot_be_are_refused() -> None:
    with pytest.raises(pb.OptionError, match="`epochs >= 1` must hold, but got epochs=0"):
        trainable(Network, Digits, epochs=0)


class Wide(Network):
    """The example's network, whose dropout at first is the user's own setting."""

    def __init__(self, dropout: float = 0.1) -> None:
        super().__init__()
        self.dropout = dropout


class Small(Digits):
    """The example's digits, in batches of the user's own size."""

    def __init__(self, batch_size: int = 64) -> None:
        super().__init__()
        self.batch_size = batch_size


def test_module_and_data_take_the_settings_that_each_of_them_has() -> None:
    make: Any = trainable(Wide, Small)
    agent = make(0, dropout=0.4, batch_size=16)
    assert (agent.module.dropout, agent.data.batch_size) == (0.4, 16)
    with pytest.raises(pb.TrainableError, match="its settings are: dropout, batch_size"):
        pb.tune(make, SPACE, population=2, intervals=1, config={"drop": 0.4})
