"""Runs of very many reports: what is asked of them takes neither the time nor the memory to read them all."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import popbandits as pb
from popbandits.population import Decision, Stop, Train
from popbandits.run import DecisionEntry, Details, FailureEntry, Log, NoteEntry, ReportEntry, RunState, Settings, Target
from popbandits.run._state import events
from popbandits.run._summary import FILE, read_summary, write_summary
from tests import models

AGENTS, INTERVALS = 4, 20_000
COMMAND = "import sys; sys.argv[0] = 'popbandits'; from popbandits.cli import main; main()"
# Runs a command of ours and prints the most memory that it took, in bytes, as its last line of errors.
MEASURED = f"""
import atexit, re, sys
most = lambda: 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
atexit.register(lambda: print(most(), file=sys.stderr))
{COMMAND}
"""


def entries() -> Iterator[Any]:
    """Yield what happens in a long run: each agent goes on with its hparams, some intervals fail at first."""
    hparams = [{"lr": 0.1 * (agent + 1), "kind": "a", "n": agent + 1} for agent in range(AGENTS)]
    for interval in range(1, INTERVALS + 1):
        source = [None if interval == 1 else agent for agent in range(AGENTS)]
        actions = tuple(Train(agent, hparams[agent], source[agent]) for agent in range(AGENTS))
        yield DecisionEntry(Decision(actions, {"interval": interval}), dict.fromkeys(range(AGENTS)))
        if interval % 5_000 == 0:
            yield FailureEntry(1, interval, 1, "exception", "it was unlucky")
            yield NoteEntry(f"half a pause before {interval}")
        for agent in range(AGENTS):
            score = float((interval * 7919 + agent * 104729) % 99991)
            yield ReportEntry(agent, interval, score, None, None, Details({"score": score, "loss": -score}))
    yield DecisionEntry(Decision(tuple(Stop(agent) for agent in range(AGENTS))), {})


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long") / "run"
    (folder / "checkpoints").mkdir(parents=True)
    settings = Settings(Target.of(models.Model), models.SPACE, pb.RandomSearch(), AGENTS, INTERVALS)
    state = RunState(settings)
    with closing(Log.create(folder, settings.to_json())) as log:
        for entry in entries():
            state.follow(log.add(entry))
            if log.length == 95_000:
                log.commit()
                write_summary(folder, state, log)
        log.commit()
    return folder


def test_a_status_is_the_same_with_and_without_a_summary(long_run: Path) -> None:
    told = pb.load(long_run).status()
    assert told["reports"] == AGENTS * INTERVALS
    assert told["state"] == "finished"
    assert told["failures"] == INTERVALS // 5_000
    assert told["notes"][-1] == f"half a pause before {INTERVALS}"
    summary = (long_run / FILE).read_bytes()
    try:
        (long_run / FILE).unlink()
        assert pb.load(long_run).status() == told
    finally:
        (long_run / FILE).write_bytes(summary)


@pytest.mark.parametrize("damage", ["flipped", "cut", "empty", "link"])
def test_a_damaged_summary_is_not_believed(long_run: Path, tmp_path: Path, damage: str) -> None:
    body = (long_run / FILE).read_bytes()
    wrong = {"flipped": body[:60] + b"9" + body[61:], "cut": body[: len(body) // 2], "empty": b""}
    if damage == "link":
        (tmp_path / FILE).symlink_to(long_run / FILE)
    else:
        (tmp_path / FILE).write_bytes(wrong[damage])
    with closing(Log.open(long_run)) as log:
        assert read_summary(tmp_path, Settings.from_json(log.settings), log)[1] == 0


def test_the_summary_of_another_log_is_not_believed(long_run: Path, tmp_path: Path) -> None:
    with closing(Log.open(long_run)) as log:
        settings, first = Settings.from_json(log.settings), list(log.entries(to=100))
        assert read_summary(long_run, settings, log)[1] == 95_000
    with closing(Log.create(tmp_path, settings.to_json())) as other:
        for entry in first:
            other.add(entry)
        other.commit()
        write_summary(tmp_path, RunState(settings, first), other)
        assert read_summary(tmp_path, settings, other)[1] == 100
    with closing(Log.open(long_run)) as log:  # the same events, but written at another time
        assert read_summary(tmp_path, settings, log)[1] == 0


@pytest.mark.parametrize(
    ("command", "most"), [(["status"], 120), (["status", "--json"], 120), (["history"], 120), (["verify"], 150)]
)
def test_memory_does_not_grow_with_a_run(long_run: Path, command: list[str], most: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *command, str(long_run)], capture_output=True, text=True, check=False
    )
    assert int(done.stderr.splitlines()[-1]) < most * 1_000_000, done.stderr
    if command == ["history"]:
        lines = done.stdout.splitlines()
        assert lines[0] == "agent,interval,score,improvement,donor,lr,kind,n,loss"
        assert len(lines) == AGENTS * INTERVALS + 1


def test_history_as_csv_and_json_says_what_the_columns_say(tmp_path: Path) -> None:
    run = pb.tune(models.Model, models.SPACE, population=3, intervals=4, executor=pb.Inline(), directory=tmp_path / "r")
    names, rows = run.rows()
    columns = run.columns()
    assert names == list(columns)
    assert repr([list(row) for row in rows]) == repr(
        [list(map(_python, row)) for row in zip(*columns.values(), strict=True)]
    )


def _python(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


@pytest.mark.parametrize("sync", [True, False], ids=["in step", "out of step"])
@pytest.mark.parametrize("strategy", [pb.PB2(), pb.ASHA(), pb.BayesOpt()], ids=str)
def test_the_fold_of_entries_knows_what_the_population_knows(tmp_path: Path, strategy: Any, sync: bool) -> None:
    options: dict[str, Any] = {"population": 4, "intervals": 5, "strategy": strategy, "sync": sync}
    run = pb.tune(models.Model, models.SPACE, executor=pb.Inline(), directory=tmp_path / "run", **options)
    run = pb.resume(run.directory, intervals=7, executor=pb.Inline())
    with closing(Log.open(run.directory)) as log:
        settings = Settings.from_json(log.settings)
    for count in range(len(run.entries) + 1):
        lived = run.entries[:count]
        state, population = RunState(settings, lived), settings.population(events(settings, lived))
        assert state.finished == population.finished
        assert state.training == set(population.training)
        assert state.settings.intervals == population.intervals
        best = population.best
        assert (state.best and (state.best.agent, state.best.interval)) == (best and (best.agent, best.interval))
