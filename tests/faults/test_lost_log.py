"""A log without its newest part must not pass for a shorter run, and no checkpoint is deleted on its word."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import popbandits as pb
from popbandits.run import verify
from tests import models

ROOT = Path(__file__).parent.parent.parent
COMMAND = [sys.executable, "-c", "from popbandits.cli import main; main()"]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was killed while all of its events were in the write-ahead file."""
    for _ in range(20):
        folder = tmp_path_factory.mktemp("killed") / "run"
        code = (
            "import popbandits as pb; from tests import models\n"
            "pb.tune(models.Model, models.SPACE, population=4, intervals=4000, executor=pb.Inline(), progress=False,"
            f" directory={str(folder)!r})"
        )
        with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT) as training:
            while not folder.exists() or len(list((folder / "checkpoints").iterdir())) < 9:
                time.sleep(0.01)
            os.kill(training.pid, signal.SIGKILL)
        alone = shutil.copy(folder / "run.sqlite", tmp_path_factory.mktemp("alone") / "run.sqlite")
        with closing(sqlite3.connect(alone)) as log:
            if log.execute("SELECT count(*) FROM events").fetchone() == (0,):
                return folder  # a run that takes longer than a second to come so far has folded them in
    raise AssertionError("this machine is too slow to kill a run in its first second")


def removed(wal: Path) -> None:
    wal.unlink()


def halved(wal: Path) -> None:
    os.truncate(wal, wal.stat().st_size // 2)


def zeroed(wal: Path) -> None:
    wal.write_bytes(bytes(wal.stat().st_size))


@pytest.mark.fault("the write-ahead file is lost, cut or zeroed")
@pytest.mark.parametrize("loss", [removed, halved, zeroed])
def test_every_command_names_the_loss_and_nothing_is_deleted(
    killed: Path, tmp_path: Path, loss: Callable[[Path], None]
) -> None:
    folder = tmp_path / "runs" / "copy"
    shutil.copytree(killed, folder)
    loss(folder / "run.sqlite-wal")
    before = sorted(path.name for path in (folder / "checkpoints").iterdir())
    for command in ("status", "history", "schedule", "verify", "report", "resume"):
        done = subprocess.run([*COMMAND, command, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 3, command
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert "the log of" in done.stderr
    listed = subprocess.run([*COMMAND, "list", str(tmp_path / "runs")], capture_output=True, text=True, check=True)
    assert "unreadable" in listed.stdout
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == before


def test_whoever_goes_on_with_what_is_left_keeps_the_checkpoints_that_the_log_does_not_know(
    killed: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(killed, folder)
    (folder / "run.sqlite-wal").unlink()
    before = {path.name for path in (folder / "checkpoints").iterdir() if path.name.startswith("agent")}
    with pytest.raises(pb.RunError, match=r"lacks \d+ of its \d+ events.*remove run.length"):
        pb.load(folder)
    (folder / "run.length").unlink()
    known = len(pb.load(folder).history)

    class Enough(pb.Callback):
        def on_start(self, run: pb.Run) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.warns(UserWarning, match="put aside"), pytest.raises(KeyboardInterrupt):
        pb.resume(folder, trainable=models.Model, executor=pb.Inline(), callbacks=[Enough()], progress=False)
    after = {path.name for path in (folder / "checkpoints").iterdir()}
    beyond = {name for name in before if int(name.split("-")[3]) > known // 4 + 1}
    assert beyond
    assert all(f".unexplained-{name}" in after for name in beyond)
    notes = pb.load(folder).status()["notes"]
    assert any("was put aside" in note for note in notes)


def test_a_mark_that_was_damaged_tells_nothing(killed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(killed, folder)
    length = len(pb.load(folder).entries)
    mark = folder / "run.length"
    assert 0 < int(mark.read_text().split()[0]) <= length, "it was killed after a commit, and maybe before the mark"
    for text in ("", "999999 12\n", "many", "9" * 100, "\x00" * 32):
        mark.write_text(text)
        assert len(pb.load(folder).entries) == length


def test_what_is_not_ours_stays_where_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    pb.tune(
        models.Model, models.SPACE, population=2, intervals=3, executor=pb.Inline(), progress=False, directory=folder
    )
    checkpoints = folder / "checkpoints"
    (checkpoints / "my notes.txt").write_text("mine")
    (checkpoints / "best-so-far").mkdir()
    (checkpoints / ".new-idea").mkdir()
    pb.resume(folder, intervals=5, executor=pb.Inline(), progress=False)
    assert (checkpoints / "my notes.txt").read_text() == "mine"
    assert (checkpoints / "best-so-far").is_dir()
    assert (checkpoints / ".new-idea").is_dir()
    assert [finding.text for finding in verify(folder) if not finding.ok] == []


def test_a_run_without_its_checkpoints_is_refused_in_one_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    pb.tune(
        models.Model, models.SPACE, population=2, intervals=3, executor=pb.Inline(), progress=False, directory=folder
    )
    shutil.rmtree(folder / "checkpoints")
    with pytest.raises(pb.RunError, match="the checkpoints of the run are not there"):
        pb.resume(folder, intervals=5, executor=pb.Inline(), progress=False)
    with pytest.raises(pb.RunError, match="the checkpoints of the run are not there"):
        verify(folder)
    assert pb.load(folder).best.checkpoint is None


def test_what_was_put_aside_once_stays_when_it_happens_again(killed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(killed, folder)
    (folder / "run.sqlite-wal").unlink()
    (folder / "run.length").unlink()
    checkpoint = max(path for path in (folder / "checkpoints").iterdir() if path.name.startswith("agent"))
    earlier = folder / "checkpoints" / f".unexplained-{checkpoint.name}"
    earlier.mkdir()
    (earlier / "all that is left").write_text("of another loss")

    class Enough(pb.Callback):
        def on_start(self, run: pb.Run) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.warns(UserWarning, match="put aside"), pytest.raises(KeyboardInterrupt):
        pb.resume(folder, trainable=models.Model, executor=pb.Inline(), callbacks=[Enough()], progress=False)
    assert (earlier / "all that is left").read_text() == "of another loss"
    assert earlier.with_name(f"{earlier.name}.2").is_dir()


@pytest.mark.fault("a FIFO in place of a file")
@pytest.mark.parametrize("name", ["run.length", "lock", "checkpoints/agent-0000-interval-000003-1/manifest.json"])
def test_nobody_waits_for_a_pipe_in_place_of_a_file(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "run"
    pb.tune(
        models.Model, models.SPACE, population=2, intervals=3, executor=pb.Inline(), progress=False, directory=folder
    )
    if not (folder / name).exists():
        name = str(max(folder.glob("checkpoints/agent-*/manifest.json")).relative_to(folder))
    (folder / name).unlink()
    os.mkfifo(folder / name)
    for command in ("status", "verify", "list", "resume"):
        where = folder.parent if command == "list" else folder
        more = ["--intervals", "4"] if command == "resume" else []
        done = subprocess.run(
            [*COMMAND, command, str(where), *more], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
        )
        assert "Traceback" not in done.stderr, command


@pytest.mark.parametrize("beside", ["-journal", "-wal", "-shm"])
def test_a_pipe_or_link_beside_the_log_is_one_sentence(tmp_path: Path, beside: str) -> None:
    run = pb.tune(models.Model, models.SPACE, population=2, intervals=1, executor=pb.Inline(), directory=tmp_path / "r")
    path = run.directory / f"run.sqlite{beside}"
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(pb.RunError, match=f"run.sqlite{beside} is not a plain file"):
        pb.load(run.directory)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(pb.RunError, match=f"run.sqlite{beside} is not a plain file"):
        pb.load(run.directory)
