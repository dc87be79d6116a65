"""Faults of user code and of workers: one agent's fault never stops or shrinks the population."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popbandits as pb
from popbandits.run import DecisionEntry, Executor, ReportEntry
from tests import models
from tests.faults._control import Controller, sound, told

METHODS = ("step", "save", "load")


def run(folder: Path, executor: Executor, model: Any = models.Faulty, **given: Any) -> pb.Run:
    options: dict[str, Any] = {"population": 4, "intervals": 6, "seed": 3} | given
    return pb.tune(model, models.SPACE, executor=executor, directory=folder / "run", **options)


def is_over(pid: int) -> bool:
    """Whether a process has ended, though nobody has asked how."""
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.fault("kill -9 of a worker")
@pytest.mark.parametrize("method", METHODS)
def test_a_killed_worker_is_replaced_and_the_run_goes_as_if_nothing_had_happened(
    tmp_path: Path, wish: Any, undisturbed: Any, method: str
) -> None:
    wish(f"{method}-kill-1", f"{method}-kill-2")
    done = run(tmp_path, pb.Processes(workers=2))
    assert {entry.kind for entry in done.failures} == {"crash"}
    assert len(done.failures) == 2
    assert "SIGKILL" in done.failures[0].message
    assert told(done) == undisturbed
    assert sound(done.directory)


@pytest.mark.fault("an exception in the user's code")
@pytest.mark.parametrize("executor", [pb.Inline(), pb.Processes(workers=2)], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_an_exception_is_kept_with_its_traceback_and_tried_again(
    tmp_path: Path, wish: Any, undisturbed: Any, executor: Executor, method: str
) -> None:
    wish(f"{method}-raise-1")
    done = run(tmp_path, executor)
    (failure,) = done.failures
    assert failure.kind == "exception"
    assert failure.message.startswith("ValueError: asked for")
    assert f"in {method}" in failure.traceback
    assert told(done) == undisturbed


@pytest.mark.fault("a result that is no score")
@pytest.mark.parametrize("what", ["none", "text", "list", "empty"])
def test_a_result_that_is_no_score_is_named_and_tried_again(
    tmp_path: Path, wish: Any, undisturbed: Any, what: str
) -> None:
    wish(f"step-{what}-1")
    done = run(tmp_path, pb.Inline())
    (failure,) = done.failures
    assert failure.kind == "result"
    said = "step returned no 'score', but an empty dict" if what == "empty" else "'score' must be a number, but step"
    assert said in failure.message
    assert told(done) == undisturbed


def test_a_nan_is_a_score_and_its_agent_is_replaced(tmp_path: Path, wish: Any) -> None:
    wish("step-nan-1")
    done = run(tmp_path, pb.Inline())
    assert not done.failures
    lost = [e for e in done.reports if e.score != e.score]
    assert len(lost) == 1
    following = [c for c in done.lineage if c.agent == lost[0].agent and c.interval == (lost[0].interval or 0) + 1]
    assert len(following) == 1


@pytest.mark.fault("out of memory in the user's code")
def test_out_of_memory_is_that_agents_alone(tmp_path: Path, wish: Any, undisturbed: Any) -> None:
    wish("step-memory-1")
    done = run(tmp_path, pb.Processes(workers=2))
    assert [entry.kind for entry in done.failures] == ["memory"]
    assert told(done) == undisturbed


def test_an_agent_that_never_succeeds_is_replaced_from_a_donor(tmp_path: Path, wish: Any) -> None:
    wish(*(f"load-raise-{n}" for n in range(1, 4)))  # the first interval has one copy, and it is tried three times
    done = run(tmp_path, pb.Inline())
    assert len(done.failures) == 3
    assert done.finished
    assert len(done.history) == 24
    history = done.history
    (lost,) = np.flatnonzero(np.isnan(history.score))
    (after,) = np.flatnonzero((history.agent == history.agent[lost]) & (history.interval == history.interval[lost] + 1))
    assert history.donor[after] != history.agent[lost]
    assert sound(done.directory)


@pytest.mark.fault("bytes of the user's code in the pipe to the controller")
@pytest.mark.parametrize("bytes_", ["x", "garbage, and much of it " * 8, "pbm1"])
def test_bytes_that_are_no_message_end_that_worker_and_hold_up_nobody(
    tmp_path: Path, wish: Any, undisturbed: Any, bytes_: str
) -> None:
    wish(f"stray-{bytes_}")
    done = run(tmp_path, pb.Processes(workers=2), models.WritesEverywhere)
    assert [failure.kind for failure in done.failures] == ["crash"]
    assert "a descriptor that is not its own" in done.failures[0].message
    assert told(done) == undisturbed


@pytest.mark.fault("a child of the user's code in a session of its own")
def test_what_user_code_starts_in_a_session_of_its_own_ends_with_the_run(tmp_path: Path, wish: Any) -> None:
    done = run(tmp_path, pb.Processes(workers=2), models.Detaches, intervals=2)
    assert done.finished
    children = [int(path.name.partition("-")[2]) for path in (tmp_path / "faults").glob("child-*")]
    assert len(children) == 8
    assert all(map(is_over, children))


@pytest.mark.fault("an interval that hangs")
def test_a_hang_is_ended_at_the_deadline(tmp_path: Path, wish: Any, undisturbed: Any) -> None:
    wish("step-hang-1")
    done = run(tmp_path, pb.Processes(workers=2, deadline=1.5))
    assert [entry.kind for entry in done.failures] == ["hang"]
    assert told(done) == undisturbed


def test_when_every_agent_fails_the_run_ends_and_says_why(tmp_path: Path) -> None:
    with pytest.raises(pb.TrainableError, match=r"every agent failed 2 times .* RuntimeError: this never works"):
        run(tmp_path, pb.Processes(workers=2), models.AlwaysFails, retries=1)
    left = pb.load(tmp_path / "run")
    assert len(left.failures) == 8
    assert not len(left.history)  # nobody's interval is spent on a fault that was not its own


@pytest.mark.fault("all agents fail for a while")
@pytest.mark.parametrize("executor", [pb.Inline(), pb.Processes(workers=2)], ids=str)
def test_after_an_outage_every_agent_goes_on_from_its_own_weights(
    tmp_path: Path, wish: Any, undisturbed: Any, executor: Executor
) -> None:
    class Outage(pb.Callback):
        def on_entry(self, entry: Any) -> None:
            if isinstance(entry, DecisionEntry) and len(heard) == 8:
                wish(*(f"step-raise-{i}" for i in range(12)))
            heard.extend([entry] if isinstance(entry, ReportEntry) else [])

    heard: list[Any] = []
    with pytest.raises(pb.TrainingFailedError, match=r"(?s)every agent failed 3 times .* in interval 3: .* resume "):
        run(tmp_path, executor, callbacks=[Outage()])
    assert len(pb.load(tmp_path / "run").history) == 8
    assert told(pb.resume(tmp_path / "run", executor=executor)) == undisturbed


@pytest.mark.parametrize("executor", [pb.Inline(), pb.Processes(workers=2)], ids=str)
def test_what_user_code_does_to_its_hparams_reaches_nobody(
    tmp_path: Path, undisturbed: Any, executor: Executor
) -> None:
    assert told(run(tmp_path, executor, models.Greedy)) == undisturbed


@pytest.mark.fault("kill -9 of a worker")
def test_a_worker_that_dies_while_idle_is_replaced(tmp_path: Path, wish: Any, undisturbed: Any) -> None:
    class Slow(pb.Callback):
        def on_entry(self, entry: Any) -> None:
            if isinstance(entry, DecisionEntry) and entry.seq > 1:
                time.sleep(0.3)

    wish("idle")
    done = run(tmp_path, pb.Processes(workers=1), models.DiesIdle, callbacks=[Slow()])
    assert told(done) == undisturbed


@pytest.mark.fault("kill -9 of a worker")
def test_a_dead_worker_is_noticed_though_a_child_of_it_lives(tmp_path: Path, wish: Any, undisturbed: Any) -> None:
    wish("step-kill-1")
    done = run(tmp_path, pb.Processes(workers=2), models.ForksAndDies)
    assert told(done) == undisturbed
    assert [entry.kind for entry in done.failures] == ["crash"]


def test_out_of_step_one_bad_agent_does_not_end_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, pb.Processes(workers=2), models.OneBadAgent, sync=False, retries=0)
    assert done.finished
    bad = {entry.agent for entry in done.failures}
    assert 0 < len(bad) < 4


def test_a_score_that_is_infinite_is_never_the_best(tmp_path: Path) -> None:
    done = run(tmp_path, pb.Inline(), models.Infinite)
    assert done.best.checkpoint is not None
    assert sound(done.directory)


def test_a_checkpoint_may_not_use_the_manifests_name(tmp_path: Path) -> None:
    with pytest.raises(pb.TrainableError, match=r"save wrote a file named manifest\.json"):
        run(tmp_path, pb.Inline(), models.OwnManifest, retries=0)


def test_verify_notices_missing_checkpoints_of_a_finished_run(tmp_path: Path) -> None:
    done = run(tmp_path, pb.Inline(), models.Model)
    assert sound(done.directory)
    for path in (done.directory / "checkpoints").iterdir():
        shutil.rmtree(path)
    assert not sound(done.directory)


FORKS = """
import os, sys
import popbandits as pb
from tests import models

class Forks(models.Model):
    def step(self, hparams):
        if os.fork() == 0:
            sys.exit(0)  # comes back from the step, too
        os.wait()
        return super().step(hparams)

options = {"population": 2, "intervals": 3, "progress": False, "directory": sys.argv[1]}
run = pb.tune(Forks, models.SPACE, executor=pb.Inline(), **options)
print(len(run.history), len(run.failures))
"""


def test_a_child_that_a_step_forks_does_not_go_on_as_a_second_controller(tmp_path: Path) -> None:
    # A program of its own: here JAX may have threads already, and a fork beside them can deadlock.
    command = [sys.executable, "-c", FORKS, str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "6 0\n"


def test_a_worker_whose_watcher_was_killed_ends_with_its_controller_all_the_same(tmp_path: Path) -> None:
    signs = tmp_path / "signs"
    signs.mkdir()
    controller = Controller(tmp_path / "run", "NeverLetsGo", workers=1, POPBANDITS_TEST_FAULTS=str(signs))
    for _ in range(300):
        if holding := [int(path.name.removeprefix("holds-")) for path in signs.glob("holds-*")]:
            break
        time.sleep(0.1)
    (worker,) = holding
    (watcher,) = map(int, Path(f"/proc/{worker}/task/{worker}/children").read_text().split())
    os.kill(watcher, signal.SIGKILL)
    assert not is_over(worker)
    controller.process.kill()
    controller.wait()
    assert controller.left_behind() == []
