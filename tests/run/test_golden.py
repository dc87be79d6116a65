"""Run folders that an earlier version wrote are read, verified and resumed as if they were written today."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import popbandits as pb
from popbandits.run import FailureEntry, NoteEntry, verify

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture
def golden(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a copy: reading a log leaves SQLite's own files beside it."""
    return Path(shutil.copytree(GOLDEN / request.param, tmp_path / "run"))


@pytest.mark.parametrize("golden", ["paper", "min", "interrupted"], indirect=True)
def test_every_promise_holds_in_it(golden: Path) -> None:
    assert [finding.text for finding in verify(golden) if not finding.ok] == []


@pytest.mark.parametrize("golden", ["paper"], indirect=True)
def test_the_papers_method_decides_as_it_did(golden: Path) -> None:
    """`verify` makes all nine decisions again; this holds what they led to against numbers written down here."""
    run = pb.load(golden)
    assert run.settings.strategy == pb.PB2.paper()
    assert (run.best.agent, run.best.interval) == (1, 8)
    assert run.best.score == pytest.approx(-0.23676850479596942)
    assert run.best.schedule[2] == {"lr": pytest.approx(0.028792544353374232), "kind": "a", "n": 1}
    assert run.beliefs is not None


@pytest.mark.parametrize("golden", ["min"], indirect=True)
def test_where_lower_is_better_the_best_is_the_lowest(golden: Path) -> None:
    run = pb.load(golden)
    best = run.history.best()
    assert best is not None
    assert best.score == run.best.score == np.nanmin(run.history.score) == pytest.approx(0.8984856424689833)
    assert run.best.checkpoint is not None
    assert run.status()["best"]["score"] == best.score


@pytest.mark.parametrize("golden", ["min"], indirect=True)
def test_failures_and_notes_are_what_they_were(golden: Path) -> None:
    run = pb.load(golden)
    assert [failure.attempt for failure in run.failures] == [1, 1, 1]
    assert {failure.kind for failure in run.failures} == {"exception"}
    assert all("ValueError: asked for" in failure.message for failure in run.failures)
    assert [entry.message.split(":")[0] for entry in run.entries if isinstance(entry, NoteEntry)] == [
        "a callback was put aside"
    ]
    assert isinstance(run.failures[0], FailureEntry)


@pytest.mark.parametrize("golden", ["interrupted"], indirect=True)
def test_an_unfinished_one_is_resumed_to_its_end(golden: Path) -> None:
    assert len(pb.load(golden).history) == 18
    run = pb.resume(golden, executor=pb.Inline())
    assert run.finished
    assert len(run.history) == 32
    assert [finding.text for finding in verify(golden) if not finding.ok] == []


@pytest.mark.parametrize("golden", ["former"], indirect=True)
def test_one_whose_strategy_is_no_more_can_be_looked_at_but_not_resumed(golden: Path) -> None:
    run = pb.load(golden)
    assert len(run.history) == 18
    assert run.best.score == np.nanmax(run.history.score)
    with pytest.raises(pb.OptionError, match="begun with an earlier pb2"):
        pb.resume(golden, executor=pb.Inline())
    assert len(pb.load(golden).history) == 18, "nothing is lost by trying"
