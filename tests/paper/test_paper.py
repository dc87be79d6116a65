import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popbandits as pb
from popbandits.cli._paper import show
from popbandits.paper import EXPERIMENTS, METHODS, Cell, cells, draw, of_today, read_results, run_cell, summary
from popbandits.paper._experiments import Experiment
from popbandits.paper._figures import curves
from popbandits.paper._results import run_folder
from popbandits.population import Population
from popbandits.run import ReportEntry, start
from popbandits.workloads import cnn, impala, ppo
from tests.drive import Interrupt

SMALL = 0.02  # of the budget: intervals of 1,000 steps


class Counted(pb.Callback):
    """Counts the reports of a run while it trains."""

    reports = 0

    def on_entry(self, entry: Any) -> None:
        self.reports += isinstance(entry, ReportEntry)


def test_cells_come_seed_by_seed() -> None:
    found = list(cells("table1", ["rs", "pb2"], task="Hopper", population=4, seeds=2))
    assert [(cell.method, cell.seed) for cell in found] == [("rs", 0), ("pb2", 0), ("rs", 1), ("pb2", 1)]
    assert found[0].name == "Hopper-B4-rs-seed0"
    scaled = next(iter(cells("table1", ["rs"], task="Hopper", scale=0.1)))
    assert scaled.name == "Hopper-B4-rs-seed0-scale0.1"
    assert scaled.settings().space.params["interval"] == scaled.interval == 5000


def test_an_experiment_is_all_that_the_paper_reports() -> None:
    found = list(cells("impala", ["rs"]))
    assert {(cell.task, cell.population) for cell in found} == {("Breakout", 4), ("SpaceInvaders", 4)}
    assert {cell.seed for cell in found} == set(range(7))
    assert {(cell.task, cell.population) for cell in cells("table1", ["rs"])} == set(EXPERIMENTS["table1"].paper)


def test_robustness_has_its_own_range_of_batch_sizes() -> None:
    cell = next(iter(cells("robustness", ["pb2"])))
    assert cell.settings().space.params["batch_size"] == pb.Int(5000, 200_000)
    assert set(cell.settings().space.params) == {"batch_size", "gae_lambda", "clip", "lr"}


@pytest.mark.parametrize(
    ("experiment", "methods", "options", "words"),
    [
        ("table7", ["rs"], {}, "an experiment is one of table1"),
        ("table1", ["rs"], {"task": "Walker"}, "table1 has the tasks .*BipedalWalker"),
        ("table1", ["sgd"], {}, "a method is one of"),
        ("table1", ["rs"], {"scale": 0.0}, "scale"),
        ("table1", ["rs"], {"scale": 0.0005}, "leaves an agent 500 steps, less than one batch of 1,000"),
        ("impala", ["rs"], {"scale": 0.001}, "500 steps between two reports, less than the 2,560"),
        ("robustness", ["rs"], {"scale": 0.004}, "less than one batch of 5,000; `scale >= 0.005` must hold"),
    ],
)
def test_what_cannot_be_run_is_refused(
    experiment: str, methods: list[str], options: dict[str, object], words: str
) -> None:
    with pytest.raises(pb.OptionError, match=words):
        list(cells(experiment, methods, **options))  # type: ignore[arg-type]


def test_the_papers_numbers_are_of_known_tasks_and_methods() -> None:
    for experiment in EXPERIMENTS.values():
        for (task, population), row in experiment.paper.items():
            assert task in experiment.tasks
            assert population in experiment.populations
            assert set(row) <= set(METHODS)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_spends_the_same_budget(tmp_path: Path, method: str) -> None:
    cell = Cell("table1", "LunarLanderContinuous", 2, method, 0, SMALL)
    result = run_cell(cell, pb.Inline(), runs=tmp_path / "runs", results=tmp_path / "results")
    assert result.reports == 40
    assert abs(result.steps - 40 * 1000) < 40 * ppo.LunarLander.count  # a copy begins where its donor overshot
    assert len(result.curve) == 20
    assert result.best == max(result.curve)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS))
@pytest.mark.parametrize("lost", [0.0, 0.03])
def test_budgets_are_equal_at_the_papers_own_sizes(experiment: Experiment, method: str, lost: float) -> None:
    for size in experiment.populations:
        cell = Cell(experiment.name, next(iter(experiment.tasks)), size, method, 0)
        space = {"x": (0.0, 1.0)}  # what is learned does not matter to the budget
        population = Population(space, cell.strategy(), size=size, intervals=experiment.intervals)
        rng = np.random.default_rng(size)
        population.start()
        while population.training:
            for agent in list(population.training):
                if agent in population.training:
                    population.tell(agent, np.nan if rng.random() < lost else rng.standard_normal())
        assert len(population.history) == size * experiment.intervals


def test_an_interval_is_what_the_tasks_themselves_train() -> None:
    assert {EXPERIMENTS[name].interval for name in ("table1", "robustness", "scaling")} == {ppo.INTERVAL}
    assert EXPERIMENTS["impala"].interval == impala.Breakout.interval == impala.SpaceInvaders.interval
    assert EXPERIMENTS["cifar10"].interval == cnn.PASSES * cnn.CIFAR10.images


def test_impala_trains_in_every_interval() -> None:
    assert EXPERIMENTS["impala"].least == impala.LAG * impala.UNROLL * impala.ENVIRONMENTS


def test_a_cell_with_a_result_is_read_and_a_half_done_one_resumed(tmp_path: Path) -> None:
    cell = Cell("table1", "LunarLanderContinuous", 2, "pbt", 0, SMALL)
    runs, results = tmp_path / "runs", tmp_path / "results"
    first = run_cell(cell, pb.Inline(), runs=runs, results=results)
    assert not run_folder(cell, runs).exists()
    file = cell.result_file(results)
    assert json.loads(file.read_text())["versions"]["popbandits"] == pb.__version__
    assert run_cell(cell, pb.Inline(), runs=runs, results=results) == first == read_results(results)[0]
    file.unlink()
    with pytest.raises(KeyboardInterrupt):
        run_cell(cell, pb.Inline(), runs=runs, results=results, callbacks=[Interrupt(after=11)])
    done = len(pb.load(run_folder(cell, runs)).history)
    assert 11 <= done < 40
    counted = Counted()
    assert run_cell(cell, pb.Inline(), runs=runs, results=results, callbacks=[counted]).reports == 40
    assert counted.reports == 40 - done


def test_a_half_done_run_with_other_settings_is_begun_anew(tmp_path: Path) -> None:
    cell = Cell("table1", "LunarLanderContinuous", 2, "pbt", 0, SMALL)
    runs, results, counted = tmp_path / "runs", tmp_path / "results", Counted()
    other = replace(cell.settings(), seed=7)
    with pytest.raises(KeyboardInterrupt):
        start(other, pb.Inline(), run_folder(cell, runs), callbacks=[Interrupt(after=3)])
    run_cell(cell, pb.Inline(), runs=runs, results=results, callbacks=[counted])
    assert counted.reports == 40


def test_results_that_cannot_be_written_are_refused_before_anything_is_trained(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    counted = Counted()
    cell = Cell("table1", "LunarLanderContinuous", 2, "pbt", 0, SMALL)
    with pytest.raises(pb.RunError, match="no result can be written to"):
        run_cell(cell, pb.Inline(), runs=tmp_path / "runs", results=tmp_path / "file", callbacks=[counted])
    assert counted.reports == 0
    with pytest.raises(pb.OptionError, match="no figure can be written to"):
        draw(Path(__file__).parents[2] / "results", tmp_path / "file")


@pytest.mark.parametrize("revised", ["trainer", "method"])
def test_a_result_of_an_earlier_trainer_or_method_is_marked_and_made_anew(
    revised: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = Cell("table1", "LunarLanderContinuous", 2, "pb2", 0, SMALL)
    runs, results = tmp_path / "runs", tmp_path / "results"
    run_cell(cell, pb.Inline(), runs=runs, results=results)
    file = cell.result_file(results)
    body = json.loads(file.read_text())
    assert int(body["versions"].pop(revised)) > 1
    file.write_text(json.dumps(body | {"best": 1e6}))
    show(results)
    assert "n=1 †" in capsys.readouterr().out
    again = run_cell(cell, pb.Inline(), runs=runs, results=results)
    assert again.current
    assert again.best < 1e6
    show(results)
    assert "†" not in capsys.readouterr().out


def test_results_of_other_options_are_of_another_day_and_show_can_look_earlier(
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = Path(__file__).parents[2] / "results"
    found = [r for r in read_results(folder) if (r.cell.task, r.cell.method) == ("LunarLanderContinuous", "pbt")]
    today = {"trainer": str(EXPERIMENTS["table1"].trainer), "method": "1"}
    own = [replace(result, versions=result.versions | today) for result in found]
    assert own == of_today(own)
    settings = own[0].settings
    other = settings | {"strategy": {"name": "pbt", "options": settings["strategy"]["options"] | {"quantile": 0.5}}}
    old = replace(own[0], settings=other)
    assert not old.current
    unknown = settings | {"strategy": {"name": "pbt", "options": {"no such option": 1}}}
    assert not replace(own[0], settings=unknown).current
    assert of_today([old, *own[1:]]) == own[1:]
    assert of_today([old]) == [old]
    assert summary([old, *own[1:]], 0, lambda result: result.best).endswith(f"n={len(own) - 1}")
    assert summary([old], 0, lambda result: result.best).endswith("n=1 †")
    show(folder, 1)
    assert summary(found, 0, lambda result: result.curve[0]) in capsys.readouterr().out


def test_a_file_that_is_no_result_is_named(tmp_path: Path) -> None:
    (tmp_path / "table1").mkdir()
    other = tmp_path / "table1" / "other.json"
    known = next(iter((Path(__file__).parents[2] / "results" / "table1").glob("*.json"))).read_text()
    for text in ("{}", known, known.replace('"method": "', '"method": "un')):
        other.write_text(text)
        with pytest.raises(pb.RunError, match=r"other.json is not a result of"):
            read_results(tmp_path)


def test_curves_are_quartiles_over_seeds_and_figures_are_drawn(tmp_path: Path) -> None:
    found = read_results(Path(__file__).parents[2] / "results")
    own = [r for r in found if (r.cell.task, r.cell.population) == ("LunarLanderContinuous", 4)]
    (low, middle, high), seeds = curves(own)["rs"]
    assert seeds == len(of_today([result for result in own if result.cell.method == "rs"]))
    assert (low <= middle).all()
    assert (middle <= high).all()
    pytest.importorskip("matplotlib")
    files = draw(Path(__file__).parents[2] / "results", tmp_path)
    assert all(file.read_text().startswith("<?xml") for file in files)
    with pytest.raises(pb.OptionError, match=r"no result in"):
        draw(tmp_path / "none", tmp_path)
