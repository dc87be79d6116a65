"""The engine: the loop, the log, checkpoints, executors, resume and replay."""

from popbandits.run._callback import Callback
from popbandits.run._check import check_trainable
from popbandits.run._executor import Executor
from popbandits.run._findings import Finding
from popbandits.run._inline import Inline
from popbandits.run._log import Entry
from popbandits.run._processes import Processes
from popbandits.run._ray import Ray
from popbandits.run._run import Copy, Result, Run
from popbandits.run._settings import Settings
from popbandits.run._trainable import Target, Trainable, functional
from popbandits.run._tune import RUNS, load, replay, resume, start, tune
from popbandits.run._verify import verify

__all__ = [
    "RUNS",
    "Callback",
    "Copy",
    "Entry",
    "Executor",
    "Finding",
    "Inline",
    "Processes",
    "Ray",
    "Result",
    "Run",
    "Settings",
    "Target",
    "Trainable",
    "check_trainable",
    "functional",
    "load",
    "replay",
    "resume",
    "start",
    "tune",
    "verify",
]
