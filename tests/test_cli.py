"""The command, as people and scripts use it: in a process of its own."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import popbandits as pb

CODE = "from popbandits.cli import main; main()"
MODEL = """
import popbandits as pb
class Model:
    def __init__(self, seed): self.w = 3.0
    def step(self, hparams):
        self.w *= 1 - hparams["lr"]
        return -self.w
    def save(self, path): (path / "w").write_text(repr(self.w))
    def load(self, path): self.w = float((path / "w").read_text())
class Incomplete:
    def step(self, hparams): return 0.0
run = pb.tune(Model, {"lr": (0.0, 1.0)}, intervals=3)   # a program of its own: importing it must not start this
"""
SPACE = 'lr = { type = "float", low = 0.001, high = 0.9, log = true }\ngamma = 0.99\n'


def cli(*arguments: str, cwd: Path, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-c", CODE, *arguments], capture_output=True, text=True, check=False, cwd=cwd, timeout=120
    )
    assert done.returncode == code, done.stdout + done.stderr
    if code:
        assert "Traceback" not in done.stderr
        return done.stderr
    return done.stdout


@pytest.fixture(name="here")
def _here(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "space.toml").write_text(SPACE)
    return tmp_path


def test_the_installed_command_finds_a_module_of_the_current_folder(here: Path) -> None:
    (here / "mine.py").write_text(MODEL[: MODEL.index("run = pb.tune")])
    command = [str(Path(sys.executable).parent / "popbandits"), "run", "mine:Model", "--space", "space.toml"]
    done = subprocess.run(
        [*command, "--intervals", "1"], capture_output=True, text=True, check=False, cwd=here, timeout=120
    )
    assert "4/4 reports" in done.stdout, done.stderr


def test_a_run_from_a_file_is_trained_looked_at_and_verified(here: Path) -> None:
    out = cli("run", "model.py:Model", "--space", "space.toml", "--intervals", "4", "--dir", "runs/a", cwd=here)
    assert "16/16 reports" in out
    assert re.search(r"best score +-", out)
    assert "runs/a: finished, 16/16 reports" in cli("status", cwd=here)
    state = json.loads(cli("status", "runs/a", "--json", cwd=here))
    assert state["state"] == "finished"
    assert [agent["agent"] for agent in state["agents"]] == [0, 1, 2, 3]
    assert "finished" in cli("list", cwd=here)
    assert cli("verify", "runs/a", cwd=here).count("ok ") == 6
    rows = list(csv.DictReader(io.StringIO(cli("schedule", "runs/a", "--format", "csv", cwd=here))))
    assert [row["interval"] for row in rows] == ["1", "2", "3", "4"]
    assert json.loads(cli("schedule", "runs/a", "--format", "json", cwd=here))[0]["gamma"] == 0.99
    assert "interval" in cli("schedule", "runs/a", "--agent", "2", cwd=here)
    reports = list(csv.DictReader(io.StringIO(cli("history", "runs/a", cwd=here))))
    assert len(reports) == 16
    assert json.loads(cli("history", "runs/a", "--format", "json", cwd=here))[0]["lr"] == float(reports[0]["lr"])
    assert "replayed with 2 seeds" in cli("replay", "runs/a", "--seeds", "2", "--executor", "inline", cwd=here)


def test_quiet_shows_the_result_alone_and_set_makes_a_constant(here: Path) -> None:
    given = ("--space", "space.toml", "--intervals", "2", "--dir", "runs/b", "--set", "lr=0.25", "--async")
    out = cli("run", "model.py:Model", *given, "--quiet", "--executor", "inline", cwd=here)
    assert "reports" not in out
    assert "lr 0.25" in out


def test_a_stopped_run_is_resumed(here: Path) -> None:
    slow = MODEL.replace("self.w *= 1", "import time; time.sleep(0.1); self.w *= 1")
    (here / "model.py").write_text(slow)
    command = [sys.executable, "-c", CODE, "run", "model.py:Model", "--space", "space.toml", "--dir", "runs/c", "-q"]
    with subprocess.Popen(command, cwd=here, stderr=subprocess.PIPE, text=True) as running:
        for _ in range(200):
            if (here / "runs/c/run.sqlite").exists() and len(pb.load(here / "runs/c").entries) > 6:
                break
            time.sleep(0.05)
        assert "has stopped" in cli("stop", "runs/c", cwd=here)
        assert running.wait(timeout=20) == 128 + signal.SIGTERM
        assert running.stderr is not None
        assert "interrupted; everything is written" in running.stderr.read()
    assert json.loads(cli("status", "runs/c", "--json", cwd=here))["state"] == "stopped"
    assert "is not running" in cli("stop", "runs/c", cwd=here, code=3)
    (here / "model.py").write_text(MODEL)
    assert "80/80 reports" in cli("resume", "runs/c", cwd=here)


def test_check_says_what_is_sound_and_what_is_not(here: Path) -> None:
    assert "NOT" not in cli("check", "model.py:Model", "--space", "space.toml", cwd=here)
    assert "NOT" not in cli("check", "mixed", cwd=here)
    assert "Incomplete has no save" in cli("check", "model.py:Incomplete", "--space", "space.toml", cwd=here, code=2)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("run nothing", 2, "module:Class, file.py:Class, or one of noisy-sgd"),
        ("run no.such.module:Class", 2, "there is no module 'no'"),
        ("run missing.py:Class", 2, "there is no file"),
        ("run model.py:Modell --space space.toml", 2, "has no 'Modell'; it has Model"),
        ("run model.py:Incomplete --space space.toml", 2, "Incomplete has no save"),
        ("run model.py:Model", 2, "has no attribute `space`; give one with --space"),
        ("run model.py:Model --space no.toml", 2, "the space no.toml cannot be read"),
        ("run model.py:Model --space space.toml --set beta=1", 2, "the space has no 'beta'; it has lr, gamma"),
        ("run model.py:Model --space space.toml --set lr=5", 2, "must lie in"),
        ("run model.py:Model --space space.toml --set lr", 2, "takes name=value"),
        ("run mixed --strategy pb3", 2, "a strategy is one of pb2, pb2-paper"),
        ("run mixed --executor cloud", 2, "one of processes, inline"),
        ("run mixed --mode best", 2, "mode must be 'max' or 'min'"),
        ("resume runs/none", 3, "there is no run in runs/none"),
        ("status runs/none", 3, "there is no run in runs/none"),
        ("status", 3, "there are no runs in runs"),
        ("list", 3, "there are no runs in runs"),
        ("verify .", 3, "there is no run in"),
        ("schedule runs/none", 3, "there is no run in"),
        ("history runs/none", 3, "there is no run in"),
        ("paper run table7", 2, "an experiment is one of table1"),
        ("paper run table1 --methods sgd", 2, "a method is one of rs"),
        ("paper run table1 --env Moon", 2, "table1 has the tasks"),
        ("data mnist", 2, "cifar10"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(here: Path, arguments: str, code: int, words: str) -> None:
    said = cli(*arguments.split(), cwd=here, code=code)
    assert said.startswith("popbandits: ")
    assert words in said
    assert said.count("\n") == 1
    assert not (here / "runs").exists()


def test_every_command_has_help_with_an_example(here: Path) -> None:
    looking = ["status", "list", "schedule", "history", "check", "verify", "report", "compare", "dashboard"]
    groups = ["bench quality", "data", "paper list", "paper run", "paper show", "paper figures"]
    for command in ["run", "resume", "stop", "replay", *looking, *groups]:
        assert "Example: popbandits" in cli(*command.split(), "--help", cwd=here)


def test_debug_shows_the_traceback(here: Path) -> None:
    code = [sys.executable, "-c", CODE, "--debug", "run", "nothing"]
    done = subprocess.run(code, capture_output=True, text=True, check=False, cwd=here)
    assert "Traceback" in done.stderr


def test_hostile_text_reaches_the_terminal_without_control_characters(here: Path) -> None:
    hostile = MODEL.replace("return -self.w", "raise ValueError('\\x1b[31mred [/mnt]\\x07')")
    (here / "model.py").write_text(hostile)
    given = ("--space", "space.toml", "--dir", "runs/x", "--executor", "inline")
    done = subprocess.run(
        [sys.executable, "-c", CODE, "run", "model.py:Model", *given],
        capture_output=True,
        text=True,
        check=False,
        cwd=here,
        env=os.environ | {"NO_COLOR": "1"},
    )
    assert done.returncode == 5
    assert "red" in done.stdout
    assert "red" in done.stderr
    assert not {"\x07", "\x1b"} & set(done.stdout + done.stderr)
    assert "red [/mnt]" in cli("status", "runs/x", cwd=here)
