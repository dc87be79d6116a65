import io
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import popbandits as pb
from popbandits.run import FailureEntry, RunState, Settings, Target
from popbandits.view import run_html
from popbandits.view._lines import Lines
from popbandits.view._live import Live, table
from popbandits.view._notebook import NotebookTable
from tests import models


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 24), (80, 12)])
@pytest.mark.parametrize("size", [4, 64])
def test_the_table_is_readable_with_few_and_many_agents_on_small_and_large_terminals(
    tmp_path: Path, size: int, width: int, height: int
) -> None:
    run = pb.tune(
        models.Model, models.SPACE, population=size, intervals=3, executor=pb.Inline(), directory=tmp_path / "run"
    )
    state = RunState(run.settings, run.entries)
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=False).print(table(state, width, height))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    wide = ["from", "time"] if width == 120 else []
    assert lines[0].split() == ["agent", "interval", "score", "change", *wide, "state", "hparams"]
    assert len(lines) <= height
    assert f"{3 * size}/{3 * size} reports, best score" in out.getvalue()
    assert ("agents more; these lead" in out.getvalue()) == (size == 64)


def test_long_hparams_are_cut_and_numbers_are_not() -> None:
    space = {f"a_rather_long_name_{i}": (0.0, 1.0) for i in range(6)}
    state = RunState(Settings(Target("m", ("C",)), pb.Space(space), pb.PB2(), 4, 5))
    for agent in state.agents:
        agent.score = agent.change = -123.456
        agent.hparams = dict.fromkeys(space, 0.123456)
    out = io.StringIO()
    Console(file=out, width=80).print(table(state, 80, 40))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[:4] for line in lines[1:5]] == [[str(agent), "0", "-123.5", "-123"] for agent in range(4)]
    assert all(line.rstrip().endswith("…") for line in lines[1:5])


def test_the_change_after_a_copy_counts_from_the_donors_score(tmp_path: Path) -> None:
    run = pb.tune(
        models.Model, models.SPACE, population=4, intervals=3, executor=pb.Inline(), directory=tmp_path / "run"
    )
    state = RunState(run.settings, run.entries)
    for agent in state.agents:
        assert agent.change == pytest.approx(run.history.improvement[run.history.agent == agent.agent][-1])


def test_live_and_lines_tell_the_same_run(tmp_path: Path) -> None:
    out, screen = io.StringIO(), io.StringIO()
    console = Console(file=screen, width=100, force_terminal=True, color_system=None)
    pb.tune(
        models.Model,
        models.SPACE,
        population=2,
        intervals=3,
        executor=pb.Inline(),
        directory=tmp_path / "run",
        callbacks=[Lines(out), Live(console)],
    )
    assert [line.split(",")[0] for line in out.getvalue().splitlines()[1:]] == [
        "2/6 reports",
        "4/6 reports",
        "6/6 reports",
    ]
    assert "6/6 reports" in screen.getvalue()


def test_a_failure_is_shown_where_it_happens(tmp_path: Path) -> None:
    out = io.StringIO()
    with pytest.raises(pb.TrainableError):
        pb.tune(
            models.AlwaysFails,
            models.SPACE,
            population=2,
            intervals=3,
            executor=pb.Inline(),
            directory=tmp_path / "run",
            callbacks=[Lines(out)],
        )
    assert "agent 0, interval 1, attempt 1: RuntimeError: this never works" in out.getvalue()


def test_a_run_that_has_not_begun_is_shown_too() -> None:
    state = RunState(Settings(Target("m", ("C",)), models.SPACE, pb.PB2(), 3, 5))
    out = io.StringIO()
    Console(file=out, width=80).print(table(state, 80, 40))
    assert "0/15 reports" in out.getvalue()


def test_the_table_shows_whole_numbers_however_small_they_are() -> None:
    state = RunState(Settings(Target("m", ("C",)), models.SPACE, pb.PB2(), 1, 5))
    state.agents[0].score, state.agents[0].change = -1.3241234e-25, -0.00012345
    out = io.StringIO()
    Console(file=out, width=80, height=20).print(table(state, 80, 20))
    assert "-1.324e-25" in out.getvalue()
    assert "-0.000123" in out.getvalue()
    assert "…" not in out.getvalue()


def test_a_terminal_that_cannot_move_its_cursor_gets_plain_lines(tmp_path: Path) -> None:
    code = "import popbandits as pb; from tests import models; pb.tune(models.Model, models.SPACE, population=2, "
    code += f"intervals=2, executor=pb.Inline(), directory={str(tmp_path / 'run')!r})"
    done = subprocess.run(
        ["script", "-qec", f"{sys.executable} -c {shlex.quote(code)}", "/dev/null"],
        env=os.environ | {"TERM": "dumb"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "4/4 reports" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_notebook_is_told_of_failures_of_many_agents_and_of_a_run_that_was_stopped(tmp_path: Path) -> None:
    run = pb.tune(
        models.Model, models.SPACE, population=20, intervals=2, executor=pb.Inline(), directory=tmp_path / "r"
    )
    shown = NotebookTable()
    shown.on_start(run)
    shown.on_entry(FailureEntry(3, 2, 1, "exception", "out of <luck>"))
    source = shown._html(ended=True)
    assert "and 4 agents more; these lead" in source
    assert "the last failure: agent 3, interval 2, attempt 1: out of &lt;luck&gt;" in source
    assert "again" not in source
    assert "agents 0 1" not in run_html(run), "too many for a legend"
    small = pb.tune(
        models.Model, models.SPACE, population=2, intervals=1, executor=pb.Inline(), directory=tmp_path / "s"
    )
    assert "<svg" not in run_html(small), "one interval is no curve"
