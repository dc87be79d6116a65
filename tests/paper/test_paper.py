import json
from pathlib import Path

import pytest

import popbandits as pb
from popbandits.paper import METHODS, PAPER, TASKS, Cell, cells, read_results, run_cell
from popbandits.run import start
from popbandits.workloads import ppo


@pytest.fixture(name="short")
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ppo, "INTERVAL", 1000)


def test_cells_come_seed_by_seed() -> None:
    found = list(cells("Hopper", 4, ["rs", "pb2"], 2))
    assert [(cell.method, cell.seed) for cell in found] == [("rs", 0), ("pb2", 0), ("rs", 1), ("pb2", 1)]
    assert found[0].name == "Hopper-B4-rs-seed0"
    assert next(iter(cells("Hopper", 4, ["rs"], 1, scale=0.1))).name == "Hopper-B4-rs-seed0-2of20"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("Walker", 4, ["rs"], 1), "an environment is one of"),
        (("Hopper", 4, ["sgd"], 1), "a method is one of"),
        (("Hopper", 4, ["rs"], 1, 0.0), "scale"),
    ],
)
def test_what_is_not_in_the_table_is_refused(given: tuple[object, ...], words: str) -> None:
    with pytest.raises(pb.OptionError, match=words):
        list(cells(*given))  # type: ignore[arg-type]


def test_the_papers_numbers_are_of_known_tasks_and_methods() -> None:
    for (env, _), row in PAPER.items():
        assert env in TASKS
        assert set(row) <= set(METHODS)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_spends_the_same_budget(tmp_path: Path, method: str) -> None:
    cell = Cell("LunarLanderContinuous", 2, method, 0, intervals=4)
    result = run_cell(cell, pb.Inline(), runs=tmp_path / "runs", results=tmp_path / "results")
    assert result.reports == 8
    assert 8 * 1000 <= result.steps <= 8 * (1000 + ppo.ENVIRONMENTS)
    assert len(result.curve) == 4
    assert result.best == max(result.curve)


@pytest.mark.usefixtures("short")
def test_a_cell_with_a_result_is_read_and_a_half_done_one_resumed(tmp_path: Path) -> None:
    cell = Cell("LunarLanderContinuous", 2, "pbt", 0, intervals=2)
    runs, results = tmp_path / "runs", tmp_path / "results"
    first = run_cell(cell, pb.Inline(), runs=runs, results=results)
    assert not (runs / cell.name).exists()
    file = cell.result_file(results)
    assert json.loads(file.read_text())["versions"]["popbandits"] == pb.__version__
    assert run_cell(cell, pb.Inline(), runs=runs, results=results) == first == read_results(results)[0]
    file.unlink()
    settings = pb.run.Settings.from_json(first.settings)
    start(settings, pb.Inline(), runs / cell.name)
    assert run_cell(cell, pb.Inline(), runs=runs, results=results).reports == 4
