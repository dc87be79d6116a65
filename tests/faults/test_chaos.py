"""Chaos: runs that suffer a random mixture of faults, four in a row, and end as if nothing had happened.

`make faults` tries a thousand of them, or as many as the variable POPBANDITS_CHAOS says. The number of a test is its
seed.
"""

import contextlib
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults._control import Controller, finish, sound, told

SEEDS = int(os.environ.get("POPBANDITS_CHAOS") or (1000 if os.environ.get("POPBANDITS_ALL_FAULTS") else 6))
CALLS = ("fdatasync", "fsync", "pwrite64", "rename", "mkdir", "write", "openat")


def killed(folder: Path, rng: random.Random) -> None:
    """Kill the controller."""
    controller = _started(folder, rng)
    controller.process.kill()
    _ended(controller)


def stopped(folder: Path, rng: random.Random) -> None:
    """Ask the controller to stop."""
    controller = _started(folder, rng)
    controller.process.send_signal(rng.choice([signal.SIGTERM, signal.SIGINT]))
    _ended(controller)


def without_a_worker(folder: Path, rng: random.Random) -> None:
    """Kill one of the controller's workers, then the controller."""
    controller = _started(folder, rng)
    for pid in _workers(controller)[:1]:
        _signal(pid, signal.SIGKILL)
    time.sleep(rng.uniform(0.0, 0.5))
    controller.process.kill()
    _ended(controller)


def paused(folder: Path, rng: random.Random) -> None:
    """Hold the controller or a worker for a moment, then kill the controller."""
    controller = _started(folder, rng)
    pid = rng.choice([controller.process.pid, *_workers(controller)])
    _signal(pid, signal.SIGSTOP)
    time.sleep(rng.uniform(0.0, 0.3))
    _signal(pid, signal.SIGCONT)
    time.sleep(rng.uniform(0.0, 0.3))
    controller.process.kill()
    _ended(controller)


def denied(folder: Path, rng: random.Random) -> None:
    """Let a system call of the controller fail once, as it does on a disk that is full or broken."""
    call, error = rng.choice(CALLS), rng.choice(["EIO", "ENOSPC", "EDQUOT"])
    # A program opens and writes hundreds of files before the run begins: only files of the run are denied.
    where = ("-P", str(folder / "run.sqlite-wal"), "-P", str(folder / "run.sqlite"), "-P", str(folder / "checkpoints"))
    inject = ("-e", f"inject={call}:error={error}:when={rng.randrange(1, 12)}")
    controller = Controller(folder, wrap=("strace", "-o", "/dev/null", *where, "-e", f"trace={call}", *inject))
    _ended(controller)
    assert "Traceback" not in controller.err or "Error" in controller.err.splitlines()[-1]


FAULTS: list[Callable[[Path, random.Random], None]] = [killed, stopped, without_a_worker, paused]
if shutil.which("strace"):
    FAULTS.append(denied)


def _started(folder: Path, rng: random.Random) -> Controller:
    controller = Controller(folder, rng.choice(["Model", "Slow"]), rng.choice([1, 2, 4]))
    time.sleep(rng.uniform(0.1, 1.2))
    return controller


def _ended(controller: Controller) -> None:
    controller.wait()
    assert controller.left_behind() == []


def _workers(controller: Controller) -> list[int]:
    """Return the worker processes of a controller."""
    found = []
    for pid in controller.alive():
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        found += [pid] if b"popbandits.run._worker" in command else []
    return found


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


@pytest.mark.fault("chaos: four faults in a row, drawn from kill -9, SIGTERM, lost and paused workers, failing calls")
@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_run_that_suffers_many_faults_ends_as_if_nothing_had_happened(
    tmp_path: Path, undisturbed: Any, seed: int
) -> None:
    rng, folder = random.Random(seed), tmp_path / "run"
    # Each kind at most twice: an agent whose worker is lost three times in one interval is replaced, as it should be.
    for fault in rng.sample(FAULTS * 2, 4):
        fault(folder, rng)
    assert told(finish(folder)) == undisturbed
    assert sound(folder)
