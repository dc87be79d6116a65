"""What outsiders' attacks found in commands, dashboard and user code: each ends in one sentence."""

import http.client
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import popbandits as pb
from tests import models
from tests.view.test_dashboard import served

COMMAND = [sys.executable, "-c", "from popbandits.cli import main; main()"]
HALF = "half \ud800 a character"


def popbandits(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=60, **options)


def tuned(folder: Path, trainable: Any = models.Model, **options: Any) -> pb.Run:
    given: dict[str, Any] = {"population": 2, "intervals": 2, "executor": pb.Inline(), "progress": False} | options
    return pb.tune(trainable, models.SPACE, directory=folder, **given)


class Named(models.Model):
    """Calls a metric by a name that no encoding has."""

    def step(self, hparams: Any) -> Any:
        return super().step(hparams) | {HALF: 1.0}


class Leaves(models.Model):
    """Ends the program, politely."""

    def step(self, hparams: Any) -> Any:
        sys.exit(0)


class Wanders(models.Model):
    """Goes somewhere else and stays there."""

    def step(self, hparams: Any) -> Any:
        os.chdir("/")
        return super().step(hparams)


class UnspeakableError(Exception):
    """Cannot even be told."""

    def __str__(self) -> str:
        raise ValueError("no")


class Unspeaking(models.Model):
    def step(self, hparams: Any) -> Any:
        raise UnspeakableError


class Loud(models.Model):
    def step(self, hparams: Any) -> Any:
        raise ValueError("x" * 30_000_000)


# The dashboard


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [("Origin", "http://[::1", 400), ("Origin", "http://elsewhere", 403), ("Host", "[::1", 421)],
)
def test_a_malformed_header_is_refused_in_one_sentence(tmp_path: Path, header: str, value: str, status: int) -> None:
    tuned(tmp_path / "run")
    with (
        served(str(tmp_path), "--port", "0") as address,
        closing(http.client.HTTPConnection(address.split("/")[2], timeout=10)) as connection,
    ):
        connection.putrequest("GET", "/api/runs", skip_host=header == "Host")
        connection.putheader(header, value)
        connection.endheaders()
        answer = connection.getresponse()
        assert answer.status == status
        assert len(answer.read().splitlines()) == 1


def test_halves_of_characters_are_shown_escaped(tmp_path: Path) -> None:
    tuned(tmp_path / "runs" / "named", Named)
    with served(str(tmp_path / "runs"), "--port", "0") as address:
        for path in ("/api/runs", "/api/runs/named", "/api/runs/named/history.csv", "/api/runs/named/figures/curves"):
            with closing(http.client.HTTPConnection(address.split("/")[2], timeout=10)) as connection:
                connection.request("GET", path)
                answer = connection.getresponse()
                assert answer.status == 200, path
                answer.read().decode("utf-8")
    for command in ("history", "status", "report"):
        done = popbandits(command, str(tmp_path / "runs" / "named"))
        assert done.returncode == 0, done.stderr
    assert "half \\ud800 a character" in popbandits("history", str(tmp_path / "runs" / "named")).stdout


# Standard output


def test_a_terminal_that_knows_ascii_only_is_enough(tmp_path: Path) -> None:
    tuned(tmp_path / "run", intervals=4)
    done = popbandits("status", str(tmp_path / "run"), env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_output_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    tuned(tmp_path / "run")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "history", str(tmp_path / "run")], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 4
    assert done.stderr == "popbandits: what was to be printed could not be written: No space left on device\n"


# Files


def test_a_report_goes_into_plain_files_only(tmp_path: Path) -> None:
    tuned(tmp_path / "run")
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "run" / "report.html").symlink_to(tmp_path / "precious")
    os.mkfifo(tmp_path / "pipe")
    for arguments in ([], ["--output", str(tmp_path / "pipe")]):
        done = popbandits("report", str(tmp_path / "run"), *arguments)
        assert done.returncode == 3
        assert "no plain file; name another with --output" in done.stderr
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_space_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_bytes(b"lr = \xff\xfe")
    done = popbandits("run", "noisy-sgd", "--space", str(tmp_path / "space.toml"), "--dir", str(tmp_path / "run"))
    assert done.returncode == 2
    assert "is not text in UTF-8" in done.stderr
    assert not (tmp_path / "run").exists()


def test_stop_ends_nobody_but_the_holder_of_the_lock(tmp_path: Path) -> None:
    import fcntl

    tuned(tmp_path / "run")
    with (
        subprocess.Popen(["sleep", "60"]) as bystander,
        open(tmp_path / "run" / "lock", "r+") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(str(bystander.pid))
        lock.flush()
        done = popbandits("stop", str(tmp_path / "run"))
        assert done.returncode == 3
        assert "which does not hold it; nothing was stopped" in done.stderr
        assert bystander.poll() is None
        bystander.kill()


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A disk of 64 kB, where this process may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], check=False)
    if made.returncode != 0:
        pytest.skip("this process may not mount a disk")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_disk_that_is_full_when_a_run_is_created_leaves_no_log(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(bytes(56 * 1024))
    with pytest.raises(pb.StorageError, match=r"could not be created.*start the run again"):
        tuned(small_disk / "run")
    assert not (small_disk / "run" / "run.sqlite").exists()
    (small_disk / "filler").unlink()


def test_a_finished_run_on_media_that_cannot_be_written_is_read(small_disk: Path, tmp_path: Path) -> None:
    tuned(tmp_path / "run")
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    shutil.copytree(tmp_path / "run", small_disk / "run")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for command in ("status", "history", "schedule", "verify"):
        done = popbandits(command, str(small_disk / "run"))
        assert done.returncode == 0, done.stderr
    elsewhere = popbandits("report", str(small_disk / "run"), "--output", str(tmp_path / "report.html"))
    assert elsewhere.returncode == 0, elsewhere.stderr
    refused = popbandits("resume", str(small_disk / "run"), "--intervals", "5")
    assert refused.returncode == 3
    assert len(refused.stderr.splitlines()) == 1


# User code


def test_a_step_that_ends_the_program_has_failed(tmp_path: Path) -> None:
    with pytest.raises(pb.TrainingFailedError, match="SystemExit"):
        tuned(tmp_path / "run", Leaves, retries=0)
    assert len(pb.load(tmp_path / "run").failures) == 2


def test_a_step_that_changes_the_folder_does_not_lose_the_run(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    run = tuned(Path("relative"), Wanders)
    assert run.finished
    assert (tmp_path / "relative" / "run.sqlite").exists()


@pytest.mark.parametrize(
    ("trainable", "said"), [(Unspeaking, "its text could not be made"), (Loud, "30000000 letters")]
)
def test_an_exception_that_is_hard_to_tell_is_told_shortly(tmp_path: Path, trainable: Any, said: str) -> None:
    with pytest.raises(pb.TrainingFailedError) as raised:
        tuned(tmp_path / "run", trainable, retries=0)
    assert said in str(raised.value)
    assert len(str(raised.value)) < 5000
    failure = pb.load(tmp_path / "run").failures[0]
    assert len(failure.traceback) < 30_000
