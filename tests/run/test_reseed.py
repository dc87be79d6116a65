"""Copies are no twins: after loading another agent's checkpoint, a trainable is given other random numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popbandits as pb
from tests.models import SPACE, Model, Reseedable


def noises(run: pb.Run) -> dict[tuple[int, int], float]:
    """Return what each agent drew in each interval."""
    columns = run.columns()
    keys = zip(columns["agent"].tolist(), columns["interval"].tolist(), strict=True)
    return dict(zip(keys, columns["noise"], strict=True))


def tuned(folder: Path, trainable: Any, **options: Any) -> pb.Run:
    given: dict[str, Any] = {"strategy": pb.PBT(), "population": 4, "intervals": 6, "executor": pb.Inline()}
    return pb.tune(trainable, SPACE, directory=folder, **given | options)


class Twin(Reseedable):
    """Cannot be reseeded."""

    reseed: Any = None


_KINDS = {"reseedable": Reseedable, "twin": Twin}


def test_a_copy_draws_other_numbers_than_its_donor(tmp_path: Path) -> None:
    run = tuned(tmp_path / "run", Reseedable)
    drawn = noises(run)
    assert run.lineage
    for copy in run.lineage:
        assert drawn[copy.agent, copy.interval] != drawn[copy.donor, copy.interval]


def test_without_reseed_a_copy_draws_the_same(tmp_path: Path) -> None:
    run = tuned(tmp_path / "run", Twin)
    drawn = noises(run)
    pairs = [(drawn[c.agent, c.interval], drawn[c.donor, c.interval]) for c in run.lineage if _went_on(run, c)]
    assert pairs
    assert all(copy == donor for copy, donor in pairs)


def _went_on(run: pb.Run, copy: Any) -> bool:
    """Return whether the donor trained its own weights in the interval that the copy trained them in."""
    rows = np.flatnonzero((run.history.agent == copy.donor) & (run.history.interval == copy.interval))
    return bool(run.history.donor[rows[0]] == copy.donor)


def test_an_agent_that_goes_on_is_not_reseeded_and_runs_stay_the_same(tmp_path: Path) -> None:
    one = tuned(tmp_path / "one", Reseedable)
    two = tuned(tmp_path / "two", Reseedable, executor=pb.Processes(workers=2))
    assert noises(one) == noises(two)
    drawn = [noises(tuned(tmp_path / name, kind, strategy=pb.RandomSearch())) for name, kind in _KINDS.items()]
    assert drawn[0] == drawn[1]  # nobody is copied, so reseed is never called


def init(seed: int) -> dict[str, Any]:
    return {"key": np.array(seed), "w": np.array(1.0)}


def step(state: dict[str, Any], hparams: Any) -> tuple[dict[str, Any], float]:
    rng = np.random.default_rng(int(state["key"]))
    w = state["w"] * (1 - 0.1 * hparams["lr"]) + rng.standard_normal()
    return {"key": np.array(int(rng.integers(2**31))), "w": w}, -float(w)


def reseed(state: dict[str, Any], seed: int) -> dict[str, Any]:
    return state | {"key": np.array(seed)}


def test_functional_trainables_can_be_reseeded_and_found_again(tmp_path: Path) -> None:
    trainable = pb.functional(init, step, reseed)
    run = tuned(tmp_path / "run", trainable, executor=pb.Processes(workers=2))
    assert run.finished
    assert run.settings.target.names == ("init", "step", "reseed")
    model: Any = trainable(0)
    model.reseed(5)
    assert int(model.state["key"]) == 5
    assert not hasattr(pb.functional(init, step)(0), "reseed")


@pytest.mark.parametrize(
    ("trainable", "tip", "told"),
    [
        (Reseedable, False, "a copy draws other random numbers than its donor"),
        (Model, True, "add a method reseed"),
        (Twin, True, "add a method reseed"),
        (pb.functional(init, step, reseed), False, "a copy draws other random numbers"),
        (pb.functional(init, step), True, "add a method reseed"),
    ],
    ids=["reseedable", "model", "twin", "functional", "functional without"],
)
def test_check_tells_whose_copies_draw_the_same_numbers(trainable: Any, tip: bool, told: str) -> None:
    space = SPACE if isinstance(trainable, type) else {"lr": (0.0, 1.0)}
    findings = pb.check_trainable(trainable, space)
    assert all(finding.ok for finding in findings)
    assert told in findings[-1].text
    assert findings[-1].tip == tip
