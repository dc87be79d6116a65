"""What users meet first: code from anywhere, settings of their own, a first guess, weights to start from."""

import functools
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
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
    with closing(sqlite3.connect(tmp_path / "run" / "run.sqlite")) as log:
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
    [
        ("", "there is no checkpoint to start from at ''"),
        (".", "copied into itself"),
        (5, "the path of a folder"),
        ("empty", "is an empty folder"),
        ("earlier", "earlier is a run; start from one of its checkpoints"),
    ],
)
def test_a_checkpoint_that_cannot_be_one_is_refused_before_a_folder_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkpoint: Any, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    if checkpoint == "earlier":
        tuned(Configured, tmp_path / "earlier")
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


MODULE = """
from . import data
import popbandits as pb


class Model:
    def __init__(self, seed):
        self.w = data.FIRST

    def step(self, hparams):
        self.w -= hparams["lr"] * self.w
        return -self.w

    def save(self, path):
        (path / "w").write_text(repr(self.w))

    def load(self, path):
        self.w = float((path / "w").read_text())


run = pb.tune(Model, {"lr": (0.0, 1.0)}, population=2, intervals=2, executor=pb.Processes(2), progress=False)
print(run.finished, run.settings.target)
"""


def test_a_program_started_as_a_module_is_imported_as_one(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "data.py").write_text("FIRST = 1.0\n")
    (package / "train.py").write_text(MODULE)
    command = [sys.executable, "-m", "package.train"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "True package.train:Model\n", done.stderr


def test_code_that_holds_much_data_reaches_the_workers(tmp_path: Path) -> None:
    held = np.ones(4_000_000)  # 32 MB: it once took minutes

    class Holding(Configured):
        def step(self, hparams: Any) -> Any:
            return {"score": held.sum()}

    run = tuned(Holding, tmp_path / "run", executor=pb.Processes(1))
    assert run.best.score == 4_000_000
