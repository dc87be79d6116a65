"""Faults of time: a clock that jumps, and a run so long that small leaks would show."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import popbandits as pb
from tests import models
from tests.faults._control import ROOT, sound, told

REPORTS = 100_000 if os.environ.get("POPBANDITS_ALL_FAULTS") else 4_400
# What a report may cost in memory: the history keeps a row of numbers, in columns that double when they are full.
BYTES, CACHE = 300, 4_000_000  # and SQLite keeps some pages
SOAK = """
import os, sys, popbandits as pb
from tests import models

def size():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

class Look(pb.Callback):
    seen = 0
    def on_entry(self, entry):
        self.seen += 1
        if self.seen in (reports // 4, reports):
            print(size(), len(os.listdir("/proc/self/fd")), flush=True)

reports = int(sys.argv[2])
options = {"population": 4, "intervals": reports // 4, "strategy": pb.RandomSearch(), "progress": False}
pb.tune(models.Model, models.SPACE, executor=pb.Inline(), directory=sys.argv[1], callbacks=[Look()], **options)
"""


@pytest.mark.fault("a clock that jumps by up to a year, both ways")
@pytest.mark.parametrize("executor", [pb.Inline(), pb.Processes(workers=2, deadline=60.0)], ids=str)
def test_a_clock_that_jumps_changes_nothing(
    tmp_path: Path, undisturbed: Any, monkeypatch: pytest.MonkeyPatch, executor: Any
) -> None:
    right, rng = time.time, random.Random(0)
    monkeypatch.setattr(time, "time", lambda: right() + rng.uniform(-3e7, 3e7))
    options: dict[str, Any] = {"population": 4, "intervals": 6, "seed": 3, "progress": False}
    done = pb.tune(models.Model, models.SPACE, executor=executor, directory=tmp_path / "run", **options)
    assert told(done) == undisturbed
    assert not done.failures
    assert sound(done.directory)
    assert done.status()["state"] == "finished"


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.fault("many reports: memory and open files are watched")
def test_a_long_run_leaks_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SOAK, str(tmp_path / "run"), str(REPORTS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    (early, files), (late, files_late) = (map(int, line.split()) for line in done.stdout.splitlines())
    assert files_late <= files + 1  # a checkpoint may be open just then
    assert late - early < CACHE + BYTES * REPORTS, f"{(late - early) / REPORTS:.0f} bytes a report"
    run = pb.load(tmp_path / "run")
    assert len(run.history) == REPORTS
    (tmp_path / "run" / "run.summary").unlink()  # it was written after 5,000 events, and tells nothing else than they
    assert pb.load(tmp_path / "run").status() == run.status()
