"""The engine: the loop, the log, checkpoints, executors, resume and replay."""

from popbandits.run._callback import Callback
from popbandits.run._check import check_trainable
from popbandits.run._entries import (
    DecisionEntry,
    Details,
    Entry,
    ExtensionEntry,
    FailureEntry,
    NoteEntry,
    ReportEntry,
    Seconds,
)
from popbandits.run._executor import Executor
from popbandits.run._findings import Finding
from popbandits.run._functional import Functional, functional
from popbandits.run._gpus import Gpus
from popbandits.run._inline import Inline
from popbandits.run._lock import holder, holds
from popbandits.run._log import FILE, Log
from popbandits.run._processes import Processes
from popbandits.run._ray import Ray
from popbandits.run._run import EXPLAINED, Best, Copy, Run
from popbandits.run._settings import Mode, Settings
from popbandits.run._state import AgentState, RunState
from popbandits.run._step import equal
from popbandits.run._target import Target
from popbandits.run._trainable import Trainable
from popbandits.run._trees import load_state
from popbandits.run._tune import RUNS, load, replay, resume, start, tune
from popbandits.run._vectorised import Vectorised
from popbandits.run._verify import verify

__all__ = [
    "EXPLAINED",
    "FILE",
    "RUNS",
    "AgentState",
    "Best",
    "Callback",
    "Copy",
    "DecisionEntry",
    "Details",
    "Entry",
    "Executor",
    "ExtensionEntry",
    "FailureEntry",
    "Finding",
    "Functional",
    "Gpus",
    "Inline",
    "Log",
    "Mode",
    "NoteEntry",
    "Processes",
    "Ray",
    "ReportEntry",
    "Run",
    "RunState",
    "Seconds",
    "Settings",
    "Target",
    "Trainable",
    "Vectorised",
    "check_trainable",
    "equal",
    "functional",
    "holder",
    "holds",
    "load",
    "load_state",
    "replay",
    "resume",
    "start",
    "tune",
    "verify",
]
