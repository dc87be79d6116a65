"""Runs that are made longer: the first part stays as it was, whatever state the run is in."""

import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import popbandits as pb
from popbandits.run import verify
from tests.run.test_first_hour import Configured, tuned


def rows(folder: Path) -> list[Any]:
    with closing(sqlite3.connect(folder / "run.sqlite")) as log:
        return log.execute("select * from events order by seq").fetchall()


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("strategy", [pb.PB2(), pb.PBT(), pb.RandomSearch(), pb.ASHA(), pb.BayesOpt()])
def test_a_longer_run_has_the_same_first_part(tmp_path: Path, strategy: Any, sync: bool) -> None:
    folder = tmp_path / "run"
    tuned(Configured, folder, intervals=4, population=4, strategy=strategy, sync=sync)
    before = rows(folder)
    run = pb.resume(folder, intervals=8, executor=pb.Inline(), progress=False)
    assert rows(folder)[: len(before)] == before
    assert len(run.history) == 32
    assert run.settings.intervals == 8
    assert run.status()["budget"] == 32
    assert [finding.text for finding in verify(folder) if not finding.ok] == []
    again = pb.resume(folder, intervals=8, executor=pb.Inline(), progress=False)
    assert len(again.entries) == len(run.entries), "as long as it is already: nothing to do"
    with pytest.raises(pb.OptionError, match="a run of 8 intervals can be made longer only, but got 5"):
        pb.resume(folder, intervals=5, executor=pb.Inline(), progress=False)
    assert pb.load(folder).finished


def test_an_unfinished_run_can_be_made_longer(tmp_path: Path) -> None:
    class Enough(pb.Callback):
        def on_entry(self, entry: Any) -> None:
            if getattr(entry, "interval", 0) == 2:
                os.kill(os.getpid(), 2)

    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        tuned(Configured, folder, intervals=4, executor=pb.Inline(), callbacks=[Enough()])
    run = pb.resume(folder, intervals=6, executor=pb.Inline(), progress=False)
    assert len(run.history) == 12
    assert [finding.text for finding in verify(folder) if not finding.ok] == []


def test_a_run_is_no_longer_than_its_log_can_say(tmp_path: Path) -> None:
    run = tuned(Configured, tmp_path / "run")
    with pytest.raises(pb.OptionError, match="at most 1,000,000,000 intervals"):
        pb.resume(run.directory, intervals=2 * 10**9, progress=False)
    assert pb.load(run.directory).settings.intervals == 3, "nothing of it was written"
    for options in ({"intervals": 10**10}, {"population": 10**6}):
        with pytest.raises(pb.OptionError, match="a run has at most"):
            tuned(Configured, tmp_path / "other", **options)
    assert not (tmp_path / "other").exists()


@dataclass(frozen=True)
class NotYet(pb.RandomSearch):
    """Decides nothing while a variable is set."""

    def start(self, view: Any) -> Any:
        if "NOT_YET" in os.environ:
            raise RuntimeError("not yet")
        return super().start(view)


def test_a_run_that_has_not_begun_to_train_can_be_made_longer(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("NOT_YET", "1")
    with pytest.raises(pb.PopbanditsError, match="not yet"):
        tuned(Configured, tmp_path / "run", strategy=NotYet())
    monkeypatch.delenv("NOT_YET")
    run = pb.resume(tmp_path / "run", intervals=5, executor=pb.Inline(), progress=False)
    assert len(run.history) == 10
    assert [finding.text for finding in verify(tmp_path / "run") if not finding.ok] == []
