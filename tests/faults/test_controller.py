"""Faults of the controller: whatever ends it, what was acknowledged is there, and the run goes on as if never ended."""

import os
import random
import shutil
import signal
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import popbandits as pb
from popbandits.run import DecisionEntry
from popbandits.run._log import Log
from tests import models
from tests.faults._control import Controller, finish, sound, told, wait_for

FAILPOINTS = ["before-publish", "published", "before-commit", "committed"]
EVERY = bool(os.environ.get("POPBANDITS_ALL_FAULTS"))


@pytest.mark.fault("kill -9 of the controller at a named point")
@pytest.mark.parametrize("count", range(1, 25) if EVERY else (1, 4, 5, 17))
@pytest.mark.parametrize("point", FAILPOINTS)
def test_a_controller_killed_at_a_failpoint_resumes_to_the_same_run(
    tmp_path: Path, undisturbed: Any, point: str, count: int
) -> None:
    killed = Controller(tmp_path / "run", POPBANDITS_FAILPOINT=f"{point}:{count}")
    assert killed.wait() in (-signal.SIGKILL, 0)
    assert killed.left_behind() == []
    assert sound(tmp_path / "run")
    assert told(finish(tmp_path / "run")) == undisturbed
    assert sound(tmp_path / "run")


@pytest.mark.fault("kill -9 of the controller at random moments, four times a run")
@pytest.mark.parametrize("seed", range(200 if EVERY else 3))
def test_a_controller_killed_again_and_again_resumes_to_the_same_run(
    tmp_path: Path, undisturbed: Any, seed: int
) -> None:
    rng = random.Random(seed)
    for _ in range(4):
        controller = Controller(tmp_path / "run", "Slow" if seed % 2 else "Model", rng.choice([1, 2, 4]))
        time.sleep(rng.uniform(0.1, 1.2))
        controller.process.kill()
        controller.wait()
        assert controller.left_behind() == []
    done = finish(tmp_path / "run")
    assert told(done) == undisturbed
    assert sound(tmp_path / "run")


@pytest.mark.fault("kill -9 of the controller at a system call that writes")
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("call", ["fdatasync,fsync", "rename,renameat,renameat2", "pwrite64"])
@pytest.mark.parametrize("count", range(1, 80) if EVERY else (1, 9, 30))
def test_a_controller_killed_at_any_system_call_that_writes_resumes_to_the_same_run(
    tmp_path: Path, undisturbed: Any, call: str, count: int
) -> None:
    wrap = ("strace", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={count}")
    killed = Controller(tmp_path / "run", wrap=wrap)
    killed.wait()
    if "ptrace" in killed.err:
        pytest.skip("this machine does not let strace trace")
    assert killed.left_behind() == []
    for path in tmp_path.glob("run/run.sqlite"):
        if path.stat().st_size == 0 or _without_settings(tmp_path / "run"):
            shutil.rmtree(tmp_path / "run")  # killed before the run had begun: there is nothing to resume
    assert told(finish(tmp_path / "run")) == undisturbed
    assert sound(tmp_path / "run")


def _without_settings(folder: Path) -> bool:
    try:
        pb.load(folder)
    except pb.RunError:
        return True
    return False


@pytest.mark.fault("SIGINT or SIGTERM to the controller")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_in_order(tmp_path: Path, undisturbed: Any, number: signal.Signals, code: int) -> None:
    controller = Controller(tmp_path / "run", "Slow")
    wait_for(tmp_path / "run", 5)
    controller.process.send_signal(number)
    assert controller.wait() in (code, -number)
    assert controller.left_behind() == []
    assert sound(tmp_path / "run")
    assert not pb.load(tmp_path / "run").finished
    assert told(finish(tmp_path / "run")) == undisturbed


@pytest.mark.parametrize("model", ["Parent", "Detaches"])
def test_what_user_code_has_started_ends_with_the_controller(tmp_path: Path, wish: Any, model: str) -> None:
    killed = Controller(tmp_path / "run", model)
    wait_for(tmp_path / "run", 4)
    killed.process.kill()
    killed.wait()
    assert list((tmp_path / "faults").glob("child-*"))
    assert killed.left_behind() == []


def test_a_program_killed_while_it_made_the_log_can_be_started_again(tmp_path: Path, undisturbed: Any) -> None:
    folder = tmp_path / "run"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / ".new-run.sqlite").write_bytes(b"half a log")
    assert told(finish(folder)) == undisturbed


def test_settings_that_were_changed_by_hand_are_refused(tmp_path: Path) -> None:
    import sqlite3

    run = pb.tune(models.Model, models.SPACE, population=2, intervals=1, executor=pb.Inline(), directory=tmp_path / "r")
    with closing(sqlite3.connect(run.directory / "run.sqlite")) as database, database:
        database.execute("UPDATE settings SET body = replace(body, '\"seed\": 0', '\"seed\": 1')")
    with pytest.raises(pb.RunError, match="settings do not match their checksum"):
        pb.load(run.directory)


def test_a_run_has_one_controller(tmp_path: Path) -> None:
    first = Controller(tmp_path / "run", "Slow")
    wait_for(tmp_path / "run", 1)
    others = [Controller(tmp_path / "run") for _ in range(5)]
    for other in others:
        assert other.wait() == 1
        assert f"is in use by process {first.process.pid}; stop it first" in other.err
    assert first.wait() == 0
    assert sound(tmp_path / "run")


@pytest.mark.fault("a checkpoint that is damaged")
@pytest.mark.parametrize("harm", ["flip", "cut", "remove", "manifest"])
def test_a_damaged_checkpoint_is_put_aside_and_the_one_before_is_used(tmp_path: Path, harm: str) -> None:
    folder = tmp_path / "run"
    Controller(folder, workers=0, POPBANDITS_FAILPOINT="committed:16").wait()
    last = pb.load(folder).entries[-1]
    assert isinstance(last, DecisionEntry)
    wanted = [name for name in last.loads.values() if name is not None]
    twice = max(wanted, key=wanted.count)  # the donor's: it and its copies are to load it
    victim = folder / "checkpoints" / twice / ("manifest.json" if harm == "manifest" else "state")
    data = bytearray(victim.read_bytes())
    data[3] ^= 1
    if harm == "remove":
        victim.unlink()
    else:
        victim.write_bytes(bytes(data[:-1]) if harm == "cut" else bytes(data))
    assert not sound(folder)
    again = pb.resume(folder, executor=pb.Inline())
    assert again.finished
    assert len(again.history) == 24
    assert {failure.kind for failure in again.failures} == {"checkpoint"}
    assert len(again.failures) == wanted.count(twice) > 1
    assert (folder / "checkpoints" / f".damaged-{twice}").is_dir()
    fallbacks = {failure.load for failure in again.failures}
    assert len(fallbacks) == 1  # all fall back to the same one
    assert None not in fallbacks


@pytest.mark.fault("a bit flipped in the log")
def test_a_damaged_log_is_named_or_read_right(tmp_path: Path, tried: Any) -> None:
    finish(tmp_path / "run", workers=0)
    log = tmp_path / "run" / "run.sqlite"
    pb.load(tmp_path / "run")
    right = told(pb.load(tmp_path / "run"))
    whole = log.read_bytes()
    for side in ("-wal", "-shm"):
        Path(f"{log}{side}").unlink(missing_ok=True)
    rng = random.Random(0)
    refused = 0
    for _ in range(1000 if EVERY else 200):
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        log.write_bytes(bytes(data))
        try:
            read = told(pb.load(tmp_path / "run"))
        except pb.RunError:
            refused += 1
            tried("the damage was named")
        else:
            assert read == right
            tried("read right all the same")
    assert refused > 20


@pytest.mark.fault("a bit flipped in the write-ahead file of a killed run")
def test_damage_to_the_write_ahead_file_of_a_killed_run_loses_no_report_in_silence(tmp_path: Path, tried: Any) -> None:
    killed = Controller(tmp_path / "run", POPBANDITS_FAILPOINT="committed:8")
    assert killed.wait() == -signal.SIGKILL
    log, wal = tmp_path / "run" / "run.sqlite", tmp_path / "run" / "run.sqlite-wal"
    main, whole = log.read_bytes(), wal.read_bytes()
    right = told(pb.load(tmp_path / "run"))
    frames = range(32, len(whole), 24 + 4096)
    ends = [at for at in frames if int.from_bytes(whole[at + 4 : at + 8], "big")]  # frames that end a transaction
    # A last transaction that does not read may have been half written: it is as if the kill had come before it.
    durable = ends[-3] + 24 + 4096
    rng = random.Random(0)
    refused = 0
    for _ in range(1000 if EVERY else 100):
        data = bytearray(whole)
        data[rng.randrange(durable)] ^= 1 << rng.randrange(8)
        log.write_bytes(main)
        wal.write_bytes(bytes(data))
        try:
            Log.open(tmp_path / "run", write=True).close()
        except pb.RunError:
            refused += 1
            tried("the damage was named")
        else:
            assert told(pb.load(tmp_path / "run")) == right
            tried("read right all the same")
    assert refused > 50


def test_a_half_written_last_transaction_is_taken_for_what_it_is(tmp_path: Path, undisturbed: Any) -> None:
    killed = Controller(tmp_path / "run", POPBANDITS_FAILPOINT="committed:8")
    assert killed.wait() == -signal.SIGKILL
    wal = tmp_path / "run" / "run.sqlite-wal"
    whole = wal.read_bytes()
    wal.write_bytes(whole[: -4096 - 24 - 100] + bytes(4096 + 24 + 100))
    (tmp_path / "run" / "run.length").unlink()  # it is written after a transaction, so never of a half-written one
    assert told(finish(tmp_path / "run")) == undisturbed
    assert sound(tmp_path / "run")


@pytest.mark.fault("a disk that fills up")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system takes root")
def test_a_full_disk_is_said_and_survived(tmp_path: Path, undisturbed: Any) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("this machine does not let us mount")
    try:
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * 100_000)
        controller = Controller(disk / "run")
        assert controller.wait() != 0
        assert controller.left_behind() == []
        assert "StorageError" in controller.err
        assert not any(entry.score != entry.score for entry in pb.load(disk / "run").reports)
        ballast.unlink()
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        assert told(finish(disk / "run")) == undisturbed
        assert sound(disk / "run")
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.parametrize("version", [1, 99])
def test_an_older_or_newer_log_is_refused_by_version(tmp_path: Path, version: int) -> None:
    import sqlite3

    run = pb.tune(models.Model, models.SPACE, population=2, intervals=1, executor=pb.Inline(), directory=tmp_path / "r")
    with closing(sqlite3.connect(run.directory / "run.sqlite")) as database, database:
        database.execute(f"PRAGMA user_version={version}")
    for act in (pb.load, pb.resume):
        with pytest.raises(pb.RunError, match=f"log version {version}, but this popbandits reads version 2"):
            act(run.directory)
