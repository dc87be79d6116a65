"""Controllers in processes of their own, to be killed."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import popbandits as pb
from popbandits.run import DecisionEntry, verify

ROOT = Path(__file__).parent.parent.parent
CODE = """
import sys, popbandits as pb
from pathlib import Path
from tests import models
folder, name, workers = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
executor = pb.Processes(workers=workers) if workers else pb.Inline()
if (folder / "run.sqlite").exists():
    pb.resume(folder, executor=executor)
else:
    pb.tune(getattr(models, name), models.SPACE, population=4, intervals=6, seed=3, executor=executor, directory=folder)
"""


class Controller:
    """A program that starts the run in a folder, or goes on with it.

    Args:
        folder: the run's.
        model: the name of a trainable in tests/models.py.
        workers: how many; 0 for inline.
        wrap: a command to run it under, such as strace.
        env: more environment.
    """

    def __init__(
        self, folder: Path, model: str = "Model", workers: int = 2, wrap: tuple[str, ...] = (), **env: str
    ) -> None:
        self.mark = uuid.uuid4().hex
        self.process = subprocess.Popen(
            [*wrap, sys.executable, "-c", CODE, str(folder), model, str(workers)],
            cwd=ROOT,
            env=os.environ | {"POPBANDITS_TEST_MARK": self.mark} | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait(self, seconds: float = 120) -> int:
        self.out, self.err = self.process.communicate(timeout=seconds)
        return self.process.returncode

    def left_behind(self) -> list[int]:
        """Return the processes with our mark that still live, after up to five seconds."""
        for _ in range(50):
            if not self.alive():
                return []
            time.sleep(0.1)
        return self.alive()

    def alive(self) -> list[int]:
        """Return the processes with our mark that live now."""
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self._ours(pid)]

    def _ours(self, pid: int) -> bool:
        try:
            ours = self.mark.encode() in Path(f"/proc/{pid}/environ").read_bytes()
            return ours and "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return False


def finish(folder: Path, model: str = "Model", workers: int = 2) -> pb.Run:
    """Resume a run, or start it if there is none, to its end."""
    controller = Controller(folder, model, workers)
    assert controller.wait() == 0, controller.err
    assert controller.left_behind() == []
    return pb.load(folder)


def wait_for(folder: Path, reports: int, seconds: float = 60) -> None:
    """Wait until a run has so many reports."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if len(pb.load(folder).history) >= reports:
                return
        except pb.RunError:
            pass
        time.sleep(0.02)
    raise AssertionError(f"{folder} has not reached {reports} reports")


def told(run: pb.Run) -> list[Any]:
    """Everything a run decided and was told, byte for byte, but for names of attempts and failures."""
    decided = [entry.decision.to_json() for entry in run.entries if isinstance(entry, DecisionEntry)]
    decisions = [json.dumps(body, sort_keys=True) for body in decided]
    return [decisions, sorted((e.agent, e.interval, repr(e.score)) for e in run.reports)]


def sound(folder: Path) -> bool:
    """Whether every promise that can be checked in a folder holds."""
    return all(finding.ok for finding in verify(folder))


__all__ = ["Controller", "finish", "signal", "sound", "told", "wait_for"]
