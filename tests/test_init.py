"""`popbandits init`: what it writes is a sound trainable."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from popbandits.cli import main; main()"]


def popbandits(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("framework", ["plain", "torch", "jax"])
def test_what_is_written_passes_the_check_that_it_names(tmp_path: Path, framework: str) -> None:
    if framework != "plain":
        pytest.importorskip(framework)
    done = popbandits(tmp_path, "init", "mine.py", "--with", framework)
    assert done.returncode == 0
    last = (tmp_path / "mine.py").read_text().splitlines()[-1]
    assert last.strip("# ") == done.stdout.splitlines()[-1] == "popbandits check mine.py:Model"
    checked = popbandits(tmp_path, "check", "mine.py:Model")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "NOT" not in checked.stdout


def test_a_file_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("mine")
    done = popbandits(tmp_path, "init")
    assert done.returncode == 2
    assert done.stderr == "popbandits: model.py exists already, and is left as it is; name another file\n"
    assert (tmp_path / "model.py").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["model.py", "--with", "tensorflow"], "one of plain, torch, jax, but got 'tensorflow'"),
        (["my-model.py"], "must be a Python module such as my_model.py"),
        (["nowhere/model.py"], "cannot be written: No such file or directory"),
    ],
)
def test_what_cannot_be_written_is_said(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = popbandits(tmp_path, "init", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_settings_guesses_weights_and_length_are_given_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import popbandits as pb\n"
        "class Model:\n"
        "    space = {'lr': pb.Float(0.0, 1.0)}\n"
        "    def __init__(self, seed, start=1.0): self.w = start\n"
        "    def step(self, hparams): self.w -= 0.1; return {'score': hparams['lr'], 'w': self.w}\n"
        "    def save(self, path): (path / 'w').write_text(repr(self.w))\n"
        "    def load(self, path): self.w = float((path / 'w').read_text())\n"
    )
    common = ["--population", "2", "--executor", "inline", "-q"]
    given = ["--config", "start=5", "--initial", '{"lr": 0.5}', "--intervals", "2", "--dir", "first"]
    done = popbandits(tmp_path, "run", "mine.py:Model", *common, *given)
    assert done.returncode == 0, done.stderr
    pb = importlib.import_module("popbandits")
    run = pb.load(tmp_path / "first")
    assert 0.5 in run.columns()["lr"][:2]
    assert max(run.columns()["w"]) == pytest.approx(4.9)
    assert "config: start 5" in popbandits(tmp_path, "status", "first").stdout
    longer = popbandits(tmp_path, "resume", "first", "--intervals", "4", "--executor", "inline", "-q")
    assert longer.returncode == 0, longer.stderr
    assert len(pb.load(tmp_path / "first").history) == 8
    shorter = popbandits(tmp_path, "resume", "first", "--intervals", "3", "--executor", "inline")
    assert shorter.returncode == 2
    assert "can be made longer only" in shorter.stderr
    weights = str(pb.load(tmp_path / "first").best.checkpoint)
    warm = ["--checkpoint", weights, "--intervals", "1", "--dir", "second"]
    assert popbandits(tmp_path, "run", "mine.py:Model", *common, *warm).returncode == 0
    assert max(pb.load(tmp_path / "second").columns()["w"]) < 4.9
    wrong = popbandits(tmp_path, "run", "mine.py:Model", "--config", "strt=5", "--dir", "third")
    assert wrong.returncode == 2
    assert "its settings are: start" in wrong.stderr
    assert not (tmp_path / "third").exists()
    assert "--config takes name=value" in popbandits(tmp_path, "check", "mine.py:Model", "--config", "x").stderr
    assert "--initial takes hparams as JSON" in popbandits(tmp_path, "run", "mine.py:Model", "--initial", "x").stderr
    refused = popbandits(tmp_path, "run", "mine.py:Model", "--gpus", "2", "--executor", "inline")
    assert "--gpus is for --executor processes" in refused.stderr
