"""The bench of real training: populations in step, its cells, its tables, and the queue of what takes days."""

import dataclasses
import json
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import popbandits as pb
from benchmarks import _ceilings, _real_cells, experiments, study
from benchmarks._ceilings import Ceiling, along, read_ceiling, search
from benchmarks._lockstep import Compiled, Judged, train_all
from benchmarks._one_by_one import train_one
from benchmarks._real_cells import read_cell, revision_of, write_cell
from benchmarks._real_show import normalised, show
from benchmarks._real_tasks import METHODS, STRATEGIES, TASKS, method_of, schedule_of
from popbandits.population import Strategy, View
from popbandits.workloads._episodes import Judgement
from popbandits.workloads._jax import jax, jnp
from popbandits.workloads._learner import Learner
from tests.documents import ROOT

SPACE = pb.Space({"x": pb.Float(0.0, 1.0), "y": pb.Float(0.0, 1.0)})


def toy() -> Learner:
    """An agent whose weight grows by x in an interval; it also draws a number, which copies must not share."""

    def step(state: Any, hparams: Any) -> Any:
        key, draw = jax.random.split(state["key"])
        w = state["w"] + hparams["x"]
        return {"w": w, "key": key}, {"score": w, "score_error": 0.5 * jnp.ones(()), "drawn": jax.random.uniform(draw)}

    return Learner(
        SPACE,
        lambda key: {"w": jnp.zeros(()), "key": key},
        step,
        lambda state, key: state | {"key": key},
        lambda state, key: (state["w"], jnp.float32(0.1)),
    )


@dataclasses.dataclass(frozen=True)
class Watched(pb.PBT):
    """PBT that keeps the last history it was shown, by seed."""

    histories: ClassVar[dict[int, Any]] = {}

    def decide(self, view: View, due: tuple[int, ...]) -> pb.Decision:
        self.histories[view.seed] = view.history
        return super().decide(view, due)


def test_populations_in_step_copy_weights_and_train_with_what_was_decided() -> None:
    found = train_all(Compiled(toy()), Watched, range(5), size=4, intervals=6)
    assert len(found) == 5
    for seed, outcome in enumerate(found):
        history = Watched.histories[seed]
        assert len(history) == 24
        gained = np.where(history.before < 0, history.score, history.improvement)
        np.testing.assert_allclose(gained, history.values[:, 0], atol=1e-5)
        assert (history.donor[history.interval > 1] != history.agent[history.interval > 1]).any()
        assert history.score_error.tolist() == [0.5] * 24
        assert outcome.judged == pytest.approx(max(outcome.curve), abs=1e-5)
        assert outcome.curve == pytest.approx(
            [history.score[history.interval == t].max() for t in range(1, 7)], abs=1e-5
        )


def test_populations_in_step_do_not_depend_on_who_trains_beside_them() -> None:
    together = train_all(Compiled(toy()), pb.PBT, range(3), size=3, intervals=4)
    assert together[2:] == train_all(Compiled(toy()), pb.PBT, range(2, 3), size=3, intervals=4)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_method_trains_in_step_and_spends_its_budget(name: str) -> None:
    found = train_all(Compiled(toy()), STRATEGIES[name], range(2), size=4, intervals=5)
    assert all(0 < outcome.judged <= 5 for outcome in found)


class Toy:
    """The same as a trainable."""

    def __init__(self, seed: int) -> None:
        self.w, self.rng = 0.0, np.random.default_rng(seed)

    def step(self, hparams: Any) -> dict[str, float]:
        assert hparams["constant"] == 3
        self.w += hparams["x"]
        return {"score": self.w, "score_error": 0.5}

    def save(self, path: Path) -> None:
        (path / "w").write_text(repr(self.w))

    def load(self, path: Path) -> None:
        self.w = float((path / "w").read_text())

    def reseed(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def judge(self, seed: int) -> Judgement:
        return Judgement(self.w, 0.1, 1)


@pytest.mark.parametrize("strategy", [pb.PBT(), pb.PB2(), pb.ASHA()], ids=str)
def test_a_trainable_is_trained_one_by_one_as_in_step(strategy: Strategy) -> None:
    train = partial(train_one, size=4, intervals=5, space=SPACE, constants={"constant": 3})
    alone = train(Toy, strategy, 2)
    (in_step,) = train_all(Compiled(toy()), lambda: strategy, range(2, 3), size=4, intervals=5)
    assert alone.judged == pytest.approx(in_step.judged, abs=1e-5)
    assert alone.curve == pytest.approx(in_step.curve, abs=1e-5)


def drifting() -> Learner:
    """An agent that gains most when x goes from 0 in the first interval to 1 in the fifth."""

    def step(state: Any, hparams: Any) -> Any:
        gain = 1 - (hparams["x"] - state["age"] / 4) ** 2
        after = {"w": state["w"] + gain, "age": state["age"] + 1}
        return after, {"score": after["w"]}

    return Learner(
        SPACE,
        lambda key: {"w": jnp.zeros(()), "age": jnp.zeros(())},
        step,
        lambda state, key: state,
        lambda state, key: (state["w"], jnp.float32(0.1)),
    )


def test_ceilings_find_the_best_constant_and_a_line_that_is_better() -> None:
    *_, found = search(Compiled(drifting()), 5, 1)
    assert isinstance(found, Ceiling)
    assert found.untrained == 0.0
    assert found.constant[0] == pytest.approx(0.5, abs=0.1)
    assert found.constant_score == pytest.approx(5 - 0.625, abs=0.05)
    assert found.line_score > 4.9
    assert found.line[0][0] < 0.2
    assert found.line[1][0] > 0.8
    np.testing.assert_allclose(along(np.array([[[0.0], [1.0]]]), 3)[0, :, 0], [0, 0.5, 1])


def test_every_task_has_a_corner_within_its_space_and_every_method() -> None:
    for task in TASKS.values():
        for name, param in task.corner.items():
            own = task.space.params[name]
            assert own.low <= param.low < param.high <= own.high
        for name in [*STRATEGIES, "pbt-corner"]:
            assert callable(method_of(name, task).strategy)
    corner = method_of("pbt-corner", TASKS["pendulum"]).space
    assert corner is not None
    assert corner.params["lr"] == pb.Float(1e-3, 5e-3, log=True)


def test_methods_of_ones_own_are_found_and_others_are_refused() -> None:
    task = TASKS["pendulum"]
    assert method_of("popbandits.strategies:PBT", task).strategy is pb.PBT
    with pytest.raises(pb.OptionError, match=r"a method is one of rs, .* or module:Class, but got 'sgd'"):
        method_of("sgd", task)
    with pytest.raises(pb.OptionError, match=r"there is no strategy 'popbandits\.strategies:No'"):
        method_of("popbandits.strategies:No", task)


def test_a_cell_grows_and_one_of_another_revision_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_real_cells, "FOLDER", tmp_path)
    cell = read_cell("pendulum", "pb2", 4)
    assert cell.judged == ()
    write_cell(cell.extended([Judged(-3.0, 0.1, (1.0, 2.0)), Judged(float("nan"), 0.1, (1.0, 2.0))], 5.0))
    again = read_cell("pendulum", "pb2", 4)
    assert again.values.tolist() == [-3.0, -np.inf]  # weights that diverged are worse than any
    assert again.curve == ((1.0, 2.0), (1.0, 2.0))
    write_cell(dataclasses.replace(again, revision="0-0"))
    assert read_cell("pendulum", "pb2", 4).judged == ()
    revisions = [revision_of("pendulum", name) for name in ("dice", "pb2", "pbt", "pbt-corner")]
    assert revisions[0] == revisions[1] != revisions[2]
    assert revisions[3].startswith(f"{revisions[2]}-"), "and what the corner is"
    own = revision_of("pendulum", "tests.benchmarks.test_real:Watched")
    assert own not in revisions
    assert len(own) > len(revisions[0])


def test_tables_and_normalisation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_real_cells, "FOLDER", tmp_path)
    monkeypatch.setattr(_ceilings, "FOLDER", tmp_path / "ceilings")
    _ceilings.write_ceiling("pendulum", Ceiling(-1000.0, [0.5] * 5, -300.0, [[0.5] * 5, [0.4] * 5], -200.0, 10, 1))
    assert read_ceiling("pendulum").line_score == -200.0
    for method, level in (("rs", -600.0), ("pb2", -200.0)):
        outcomes = [Judged(level + i, 1.0, (level,)) for i in range(6)]
        write_cell(read_cell("pendulum", method, 4).extended(outcomes, 1.0))
    assert normalised(TASKS["pendulum"], read_cell("pendulum", "rs", 4))[0] == 0.5
    text = "\n".join(show())
    assert "| pb2 | 6 | -197.5 [-19" in text
    assert "**1.00 [1.00, 1.00]**" in text
    schedule = schedule_of(read_ceiling("pendulum"), "line", TASKS["pendulum"])
    assert len(schedule) == 15
    assert schedule[0]["clip"] > schedule[-1]["clip"]


class TestExperiments:
    def test_every_job_is_named_once_and_knows_whether_it_is_done(self) -> None:
        every = list(experiments.jobs())
        assert len({job.name for job in every}) == len(every)
        assert {job.kind for job in every} == {"real", "choosing", "ceilings", "study", "paper"}
        methods = {job.words[1] for job in every if job.kind == "real"}
        assert methods == set(METHODS)
        assert all(isinstance(job.done, bool) for job in every[:60])

    def test_jobs_are_made_in_processes_and_killed_ones_go_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        wanted = [
            experiments.Job("study", ("two", "peak-3d", "pbt")),
            experiments.Job("study", ("two", "no such problem", "pbt")),
        ]
        (tmp_path / "results" / "study").mkdir(parents=True)
        file = tmp_path / "results" / "study" / "B2-peak-3d-pbt.json"
        monkeypatch.setattr(experiments, "jobs", lambda: iter(wanted))
        monkeypatch.setattr(experiments.Job, "done", property(lambda job: "no such" not in job.name and file.exists()))
        experiments.Crew(1, frozenset()).run()
        assert len(json.loads(file.read_text())["regrets"]) == study.TABLES["two"].seeds
        out = capfd.readouterr().out
        assert "study-B2-peak-3d-pbt: B=2 peak-3d pbt: 0." in out
        assert "failed, see runs/experiments/study-B2-no such problem-pbt.log" in out
        assert len(list((tmp_path / "runs" / "experiments").glob("*.lock"))) == 2

    def test_a_job_that_somebody_is_at_is_left_to_them(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        experiments.NOTES.mkdir(parents=True)
        job = experiments.Job("study", ("two", "peak-3d", "pbt"))
        monkeypatch.setattr(experiments, "jobs", lambda: iter([job]))
        monkeypatch.setattr(experiments.Job, "done", property(lambda job: False))
        taken, waiting = experiments.Crew(1, frozenset())._take()
        assert taken is not None
        assert not waiting
        assert experiments.Crew(1, frozenset())._take() == (None, False)
        taken[1].close()
        again, _ = experiments.Crew(1, frozenset())._take()
        assert again is not None
        again[1].close()

    def test_a_ceiling_is_trained_when_it_has_been_found(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_ceilings, "FOLDER", tmp_path)
        job = experiments.Job("real", ("pendulum", "line", "4", "50"))
        assert not job.ready
        _ceilings.write_ceiling("pendulum", Ceiling(0.0, [0.5] * 5, 1.0, [[0.5] * 5] * 2, 1.0, 10, 1))
        assert job.ready
        _ceilings.write_ceiling("pendulum", Ceiling(0.0, [0.5] * 5, 1.0, [[0.5] * 5] * 2, 1.0, 10, 0))
        assert not job.ready  # of another revision of the learner
        assert experiments.Job("real", ("pendulum", "pbt", "4", "50")).ready
