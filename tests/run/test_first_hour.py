"""What users meet first: code from anywhere, settings of their own, a first guess, weights to start from, GPUs."""

import functools
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import popbandits as pb
from popbandits.run import verify
from tests import models

LR: dict[str, Any] = {"lr": pb.Float(1e-3, 0.5, log=True)}


class Configured(models.Model):
    """Is told what to begin with."""

    def __init__(self, seed: int, start: float = 1.0, data: str = "none") -> None:
        super().__init__(seed)
        self.w, self.data = start, data

    def step(self, hparams: Any) -> Any:
        return super().step({"lr": hparams["lr"], "kind": "a", "n": 4}) | {"letters": float(len(self.data))}


class Device(models.Model):
    """Reports which GPUs it sees."""

    def step(self, hparams: Any) -> Any:
        seen = {os.environ[name] for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")}
        assert len(seen) == 1
        shared = os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE") == "false"
        return {"score": 0.0, "gpu": float(seen.pop()), "shared": float(shared), "pid": float(os.getpid())}


def tuned(trainable: Any, folder: Path, **options: Any) -> pb.Run:
    given: dict[str, Any] = {"intervals": 3, "population": 2, "executor": pb.Processes(workers=1), "progress": False}
    return pb.tune(trainable, LR, directory=folder, **given | options)


def inside() -> type:
    class Inner(Configured):
        pass

    return Inner


def test_a_class_that_only_the_program_defines_is_sent(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import popbandits as pb\n"
        'if __name__ == "__main__":\n'
        "    class Mine:\n"
        "        def __init__(self, seed): self.w = 3.0\n"
        "        def step(self, hparams): return hparams['lr']\n"
        "        def save(self, path): (path / 'w').write_text('3')\n"
        "        def load(self, path): pass\n"
        "    run = pb.tune(Mine, {'lr': (0.1, 0.5)}, population=2, intervals=2, directory='run', progress=False,\n"
        "                  executor=pb.Processes(workers=1))\n"
        "    print(len(run.history), run.settings.target)\n"
    )
    command = [sys.executable, str(program)]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["4", "Mine"], done.stderr


# Settings of the user's own


def test_a_trainable_is_made_with_the_settings_it_was_given(tmp_path: Path) -> None:
    config = {"start": 2.0, "data": "mnist"}
    run = tuned(Configured, tmp_path / "run", config=config)
    assert run.columns()["letters"] == [5.0] * 6
    assert run.columns()["w"][0] > 1.0
    assert pb.load(tmp_path / "run").settings.config == config
    assert run.status()["config"] == config
    again = pb.replay(run, seeds=1, executor=pb.Inline(), directory=tmp_path / "replay", progress=False)
    assert again.columns()["letters"] == [5.0] * 3, "a replay is made with them too"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"dta": "mnist"}, "its settings are: start, data"),
        ({"data": {1, 2}}, "config holds JSON values"),
        ({"data": float("nan")}, "config holds JSON values"),
        ({1: "x"}, "a dict of names"),
        ({"seed": 3}, "give seed= to tune"),
        ([("data", "mnist")], "a dict of names"),
        ([], "a dict of names"),
        (False, "a dict of names"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_a_folder_exists(tmp_path: Path, config: Any, said: str) -> None:
    with pytest.raises(pb.PopbanditsError, match=said):
        tuned(Configured, tmp_path / "run", config=config)
    assert not (tmp_path / "run").exists()


def test_functional_trainables_take_settings_too(tmp_path: Path) -> None:
    trainable = pb.functional(lambda seed, start: {"w": start}, lambda state, hparams: (state, float(state["w"])))
    run = tuned(trainable, tmp_path / "run", config={"start": 3.0})
    assert run.best.score == 3.0


def test_a_partial_with_a_mistyped_name_is_refused_before_a_folder_exists(tmp_path: Path) -> None:
    mistyped: Any = Configured
    with pytest.raises(pb.TrainableError, match="unexpected keyword argument 'strt'; it takes: seed, start, data"):
        tuned(functools.partial(mistyped, strt=2.0), tmp_path / "run")
    assert not (tmp_path / "run").exists()


# Code from anywhere


@pytest.mark.parametrize(
    "trainable",
    [inside(), functools.partial(inside(), start=2.0), lambda seed: Configured(seed, 2.0), inside],
    ids=["class in a function", "partial", "lambda", "not one"],
)
def test_code_that_cannot_be_imported_is_sent_to_the_workers(tmp_path: Path, trainable: Any) -> None:
    if trainable is inside:
        with pytest.raises(pb.TrainableError, match=r"inside\(0\) cannot be called"):
            tuned(trainable, tmp_path / "run")
        return
    run = tuned(trainable, tmp_path / "run")
    assert run.finished
    with sqlite3.connect(tmp_path / "run" / "run.sqlite") as log:
        assert not any("cloudpickle" in str(row) for row in log.execute("select * from settings")), "nothing is pickled"


def test_a_run_of_code_that_is_not_kept_is_resumed_with_the_code(tmp_path: Path) -> None:
    trainable = inside()
    tuned(trainable, tmp_path / "run")
    with pytest.raises(pb.TrainableError, match="give it again with trainable="):
        pb.resume(tmp_path / "run", intervals=5, progress=False)
    run = pb.resume(tmp_path / "run", intervals=5, trainable=trainable, executor=pb.Inline(), progress=False)
    assert len(run.history) == 10
    assert pb.load(tmp_path / "run").settings.target.names == ("Inner",)


def test_what_a_closure_cannot_take_along_is_said_before_a_folder_exists(tmp_path: Path) -> None:
    lock = threading.Lock()

    def locked(seed: int) -> Any:
        with lock:
            return Configured(seed)

    with pytest.raises(pb.TrainableError, match="cannot be sent to a worker: TypeError"):
        tuned(locked, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert tuned(locked, tmp_path / "run", executor=pb.Inline()).finished, "this process has the lock"


def test_a_function_that_makes_no_trainable_is_told(tmp_path: Path) -> None:
    with pytest.raises(pb.TrainingFailedError, match="has no step"):
        tuned(lambda seed: object(), tmp_path / "run", retries=0)


def test_importing_the_library_does_not_import_cloudpickle() -> None:
    code = "import sys, popbandits, popbandits.run; sys.exit('cloudpickle' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Longer runs


def rows(folder: Path) -> list[Any]:
    with sqlite3.connect(folder / "run.sqlite") as log:
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


# A first guess, and weights to start from


def test_the_first_agents_start_with_the_hparams_given(tmp_path: Path) -> None:
    guess = [{"lr": 0.25}, {"lr": 0.125}]
    run = tuned(Configured, tmp_path / "run", population=4, initial=guess)
    first = {int(run.history.agent[row]): run.history.hparams(row) for row in range(4)}
    assert [first[0], first[1]] == guess
    assert first[2] != first[3]
    assert [finding.text for finding in verify(tmp_path / "run") if not finding.ok] == []


@pytest.mark.parametrize("strategy", [pb.BayesOpt(), pb.ASHA(), pb.PB2.paper()], ids=["bo", "asha", "paper"])
def test_a_guess_is_tried_also_where_agents_start_later(tmp_path: Path, strategy: Any) -> None:
    guess = [{"lr": 0.25}, {"lr": 0.125}]
    run = tuned(Configured, tmp_path / "run", population=4, intervals=4, initial=guess, strategy=strategy)
    history = run.history
    for agent in (0, 1):
        rows = [row for row in range(len(history)) if history.agent[row] == agent]
        assert history.hparams(min(rows, key=lambda row: int(history.interval[row]))) == guess[agent]
    assert [finding.text for finding in verify(tmp_path / "run") if not finding.ok] == []


@pytest.mark.parametrize(
    ("initial", "said"),
    [
        ([{"lr": 9.0}], "must lie in"),
        ([{"rate": 0.1}], "unknown hyperparameter 'rate'"),
        ([{"lr": 0.1}] * 3, "initial has hparams for 3 agents, but there are 2"),
        ({"lr": 0.1}, "initial is a list of hparams"),
    ],
)
def test_a_guess_that_cannot_be_is_refused_before_a_folder_exists(tmp_path: Path, initial: Any, said: str) -> None:
    with pytest.raises(pb.PopbanditsError, match=said):
        tuned(Configured, tmp_path / "run", initial=initial)
    assert not (tmp_path / "run").exists()


def test_all_agents_start_from_the_weights_given(tmp_path: Path) -> None:
    trained = tuned(Configured, tmp_path / "first").best
    assert trained.checkpoint is not None
    run = tuned(Configured, tmp_path / "run", checkpoint=trained.checkpoint, intervals=2)
    first = run.columns()["w"][:2]
    assert all(w < Configured(0).w for w in first), "none began with fresh weights"
    assert run.history.score[0] != run.history.score[1], "nor are they twins"
    pb.resume(tmp_path / "run", intervals=4, executor=pb.Inline(), progress=False)
    assert [finding.text for finding in verify(tmp_path / "run") if not finding.ok] == []
    with pytest.raises(pb.RunError, match="there is no checkpoint to start from"):
        tuned(Configured, tmp_path / "other", checkpoint=tmp_path / "nowhere")
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("checkpoint", "said"),
    [("", "there is no checkpoint to start from at ''"), (".", "copied into itself"), (5, "the path of a folder")],
)
def test_a_checkpoint_that_cannot_be_one_is_refused_before_a_folder_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkpoint: Any, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pb.PopbanditsError, match=said):
        tuned(Configured, tmp_path / "run", checkpoint=checkpoint)
    assert not (tmp_path / "run").exists()


def test_settings_too_deep_or_too_large_to_be_written_are_refused(tmp_path: Path) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for value in (deep, 10**5000):
        with pytest.raises(pb.OptionError, match=r"but 'data' is a .* that is too deep or too large to be written"):
            tuned(Configured, tmp_path / "run", config={"data": value})
    assert not (tmp_path / "run").exists()


class Fails(Configured):
    """Cannot train in the second agent's first interval."""

    def step(self, hparams: Any) -> Any:
        if hparams["lr"] == 0.25 and self.w == Configured(0).w:
            raise ValueError("not today")
        return super().step(hparams)


def test_the_weights_given_stay_and_their_loss_is_named(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    Configured(0).save(tmp_path / "weights")
    folder = tmp_path / "run"
    run = tuned(
        Fails, folder, checkpoint=tmp_path / "weights", initial=[{"lr": 0.25}], intervals=6, retries=0, population=3
    )
    assert run.failures
    assert (folder / "checkpoints" / "initial").is_dir(), "also after an agent that failed with them was replaced"
    again = tmp_path / "again"

    class Loses(pb.Callback):
        def on_start(self, run: pb.Run) -> None:
            (run.directory / "checkpoints" / "initial" / "state").write_text("other")

    with pytest.raises(pb.RunError, match=r"the weights that .* was given are damaged"):
        tuned(Configured, again, checkpoint=tmp_path / "weights", callbacks=[Loses()])


def test_settings_are_each_agents_own(tmp_path: Path) -> None:
    class Takes(Configured):
        def __init__(self, seed: int, options: Any) -> None:
            super().__init__(seed, options.pop("start"))

    run = tuned(Takes, tmp_path / "run", config={"options": {"start": 2.0}}, executor=pb.Inline())
    assert not run.failures


def test_a_folder_can_be_used_again(tmp_path: Path) -> None:
    tuned(Configured, tmp_path / "run")
    (tmp_path / "run" / "run.sqlite").unlink()
    with pytest.warns(UserWarning, match="put aside"):  # its checkpoints are not the new run's
        run = tuned(Configured, tmp_path / "run", intervals=1)
    assert run.finished, "the mark of the run before tells nothing"


class Litters(Configured):
    """Leaves something in the folder for temporary files."""

    def step(self, hparams: Any) -> Any:
        tempfile.mkdtemp()
        return super().step(hparams) | {"place": float(tempfile.gettempdir().count("popbandits-"))}


def test_what_workers_leave_in_their_temporary_folder_goes_with_them(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    run = tuned(Litters, tmp_path / "run")
    assert set(run.columns()["place"]) == {1.0}
    assert list((tmp_path / "tmp").iterdir()) == []


# GPUs


def test_each_worker_sees_a_gpu_of_its_own(tmp_path: Path) -> None:
    run = tuned(Device, tmp_path / "run", population=4, executor=pb.Processes(gpus=[3, "5"]))
    columns = run.columns()
    of_worker = dict(zip(columns["pid"], columns["gpu"], strict=True))
    assert sorted(of_worker.values()) == [3.0, 5.0], "as many workers as GPUs, each with one"
    assert set(columns["shared"]) == {0.0}
    assert run.status()["notes"] == ["workers share the GPUs 3, 5"]


def test_more_workers_than_gpus_share_them_evenly(tmp_path: Path) -> None:
    run = tuned(Device, tmp_path / "run", population=4, executor=pb.Processes(workers=4, gpus=["0", "1"]))
    columns = run.columns()
    of_worker = dict(zip(columns["pid"], columns["gpu"], strict=True))
    assert sorted(of_worker.values()) == [0.0, 0.0, 1.0, 1.0]
    assert set(columns["shared"]) == {1.0}


@pytest.mark.parametrize(
    ("visible", "gpus", "said"),
    [
        ("", 1, "this process may use none"),
        ("0,1", 3, "this process may use 2: 0, 1"),
        ("0,1", [], "lists each GPU once"),
        ("0,1", [1, 1], "lists each GPU once"),
        ("0,1", [-1], "numbered from 0"),
        ("0,1", [7], "GPU 7 was asked for, but this process may use 2: 0, 1"),
        ("0,1", b"0", "a number, 'auto' or a list"),
        ("0,1", "all", "a number, 'auto' or a list"),
        ("0,1", True, "a number, 'auto' or a list"),
    ],
)
def test_gpus_that_cannot_be_are_refused(monkeypatch: Any, visible: str, gpus: Any, said: str) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    with pytest.raises(pb.OptionError, match=said):
        pb.Processes(gpus=gpus)


def test_auto_takes_what_there_is(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    run = tuned(Device, tmp_path / "run", population=2, executor=pb.Processes(gpus="auto"))
    assert set(run.columns()["gpu"]) == {2.0}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert pb.Processes(gpus="auto").told() is None, "none: training goes on without"
