"""Power cuts with reordered and torn writes, worked out from a record of all writes of a real run."""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import popbandits as pb
from tests import models
from tests.faults._control import ROOT, sound, told
from tests.faults._storage import CALLS, Disk, Sync, Write, recorded

CUTS = 1000 if os.environ.get("POPBANDITS_ALL_FAULTS") else 40
PARTS = 4
CODE = """
import os, sys, popbandits as pb
from tests import models

class Acknowledge(pb.Callback):
    def on_entry(self, entry):
        os.write(told, b"%d" % entry.seq)

told = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT)
options = {"population": 4, "intervals": 6, "seed": 3, "directory": sys.argv[1], "callbacks": [Acknowledge()]}
pb.tune(models.Model, models.SPACE, executor=pb.Inline(), progress=False, **options)
"""

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Disk:
    """All that a run wrote, and when it acknowledged what."""
    folder = tmp_path_factory.mktemp("recorded")
    trace, acknowledgements = folder / "trace", folder / "acknowledgements"
    record = ["strace", "-f", "-y", "-xx", "-s", "1000000", "-o", str(trace), "-e", f"trace={CALLS}"]
    command = [*record, sys.executable, "-c", CODE, str(folder / "run"), str(acknowledgements)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if "ptrace" in done.stderr:
        pytest.skip("this machine does not let strace trace")
    assert done.returncode == 0, done.stderr
    return recorded(trace, folder / "run", acknowledgements)


def test_the_record_is_whole(disk: Disk, tmp_path: Path, undisturbed: Any) -> None:
    class Everything(random.Random):
        """Nothing is lost."""

        def random(self) -> float:
            return 0.5

        def choice(self, seq: Any) -> Any:
            return max(seq)

    disk.after(len(disk.steps), Everything(), tmp_path / "run")
    assert told(pb.load(tmp_path / "run")) == undisturbed
    assert sound(tmp_path / "run")
    assert sum(isinstance(step, Write) for step in disk.steps) > 100


def test_a_disk_that_lies_about_syncs_would_be_noticed(disk: Disk, tmp_path: Path) -> None:
    lying = Disk([step for step in disk.steps if not isinstance(step, Sync)], disk.folders)
    missed = 0
    for seed in range(20):
        rng, folder = random.Random(seed), tmp_path / str(seed)
        cut = rng.randrange(len(lying.steps) // 2, len(lying.steps) + 1)
        lying.after(cut, rng, folder)
        try:
            missed += len(pb.load(folder).entries) < lying.acknowledged(cut)
        except pb.RunError:
            missed += 1
    assert missed > 10


@pytest.mark.fault("power cuts, with unsynced writes lost, reordered and torn")
@pytest.mark.parametrize("part", range(PARTS))
def test_what_was_acknowledged_outlives_a_power_cut(
    disk: Disk, tmp_path: Path, undisturbed: Any, tried: Any, part: int
) -> None:
    for seed in range(part, CUTS, PARTS):
        rng, folder = random.Random(seed), tmp_path / str(seed)
        cut = rng.randrange(1, len(disk.steps) + 1)
        disk.after(cut, rng, folder)
        known = disk.acknowledged(cut)
        try:
            left = len(pb.load(folder).entries)
        except pb.RunError:
            assert known == 0, f"seed {seed}: {known} entries were acknowledged"
            tried("nothing was acknowledged yet, and nothing is left")
            continue
        assert left >= known, f"seed {seed}"
        again = pb.resume(folder, trainable=models.Model, executor=pb.Inline(), progress=False)
        assert told(again) == undisturbed, f"seed {seed}"
        assert sound(folder), f"seed {seed}"
        tried("the same run")
        shutil.rmtree(folder)
