import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popbandits as pb
from popbandits.population import Strategy
from popbandits.run import DecisionEntry, Executor, NoteEntry, verify
from tests import models

EXECUTORS: dict[str, Executor] = {
    "inline": pb.Inline(),
    "one": pb.Processes(workers=1),
    "two": pb.Processes(workers=2),
    "four": pb.Processes(workers=4),
}


def tune(folder: Path, executor: Executor | None = None, trainable: Any = models.Model, **given: Any) -> pb.Run:
    options: dict[str, Any] = {"population": 4, "intervals": 5, "seed": 3} | given
    return pb.tune(trainable, models.SPACE, executor=executor or pb.Inline(), directory=folder / "run", **options)


def told(run: pb.Run) -> list[Any]:
    """Everything a run decided, byte for byte, in an order that does not depend on who reported first."""
    decided = [entry for entry in run.entries if isinstance(entry, DecisionEntry)]
    decisions = [(json.dumps(entry.decision.to_json(), sort_keys=True), entry.loads) for entry in decided]
    reports = sorted((e.agent, e.interval, repr(e.score)) for e in run.reports)
    return [decisions, reports]


@pytest.mark.parametrize("strategy", [pb.PB2(), pb.PBT(), pb.ASHA(), pb.BayesOpt(), pb.RandomSearch()], ids=str)
def test_the_same_seed_gives_the_same_run_on_every_executor(tmp_path: Path, strategy: Strategy) -> None:
    runs = {name: tune(tmp_path / name, executor, strategy=strategy) for name, executor in EXECUTORS.items()}
    first = told(runs["inline"])
    for run in runs.values():
        assert run.finished
        assert told(run) == first
        assert all(finding.ok for finding in verify(run.directory))


def test_a_score_of_minus_zero_is_a_score_like_any_other(tmp_path: Path) -> None:
    run = tune(tmp_path, trainable=models.MinusZero)
    assert run.finished
    assert set(run.history.score.tolist()) == {0.0}


def test_out_of_step_a_run_ends_and_its_promises_hold(tmp_path: Path) -> None:
    run = tune(tmp_path, pb.Processes(workers=2), sync=False)
    assert run.finished
    assert len(run.history) == 20
    assert all(finding.ok for finding in verify(run.directory))


def test_the_best_has_weights_and_the_schedule_that_made_them(tmp_path: Path) -> None:
    run = tune(tmp_path, intervals=8)
    best = run.best
    assert best.score == pytest.approx(run.history.score.max())
    assert best.checkpoint is not None
    model = models.Model(0)
    model.load(best.checkpoint)
    assert -model.w == pytest.approx(best.score, abs=0.1)
    assert len(best.schedule) == best.interval
    assert best.schedule[-1] == best.hparams
    assert run.schedule() == best.schedule
    assert len(run.lineage) >= 7


def test_the_schedule_along_the_lineage_retrains_the_same_weights(tmp_path: Path) -> None:
    """The proof that it is the right one: fresh weights of the ancestor's seed under it end with the same score."""
    run = tune(tmp_path, trainable=models.FUNCTIONAL, intervals=6)
    best = run.best
    row = int(np.flatnonzero((run.history.agent == best.agent) & (run.history.interval == best.interval))[0])
    while run.history.before[row] >= 0:
        row = int(run.history.before[row])
    from popbandits._random import generator

    seed = int(generator(3, "weights", 1, int(run.history.agent[row])).integers(2**31))
    model = models.FUNCTIONAL(seed)
    for hparams in best.schedule:
        score = model.step(hparams)["score"]
    assert score == best.score


def test_a_lower_metric_can_be_better(tmp_path: Path) -> None:
    run = tune(tmp_path, metric="w", mode="min", intervals=6)
    values = [entry.score for entry in run.reports]
    assert run.best.score == min(values)
    assert run.status()["best"]["score"] == min(values)
    assert sorted(run.history.score) == sorted(values)


def test_a_run_is_loaded_as_it_was_returned(tmp_path: Path) -> None:
    run = tune(tmp_path)
    again = pb.load(run.directory)
    assert again.best == run.best
    assert again.settings == run.settings
    assert repr(again) == repr(run)


def test_checkpoints_that_nobody_needs_are_removed(tmp_path: Path) -> None:
    run = tune(tmp_path, intervals=12)
    left = sorted(path.name for path in (run.directory / "checkpoints").iterdir())
    assert len(left) <= 4 * 2 + 1
    assert run.best.checkpoint is not None


def test_a_copy_moves_no_bytes(tmp_path: Path) -> None:
    run = tune(tmp_path, pb.Processes(workers=2))
    decided = [entry for entry in run.entries if isinstance(entry, DecisionEntry)]
    loads = [(a, d.loads[a.agent]) for d in decided for a in d.decision.trained if a.source not in (None, a.agent)]
    assert loads
    assert all(str(load).startswith(f"agent-{action.source:04d}") for action, load in loads)


def test_callbacks_hear_everything_and_cannot_stop_a_run(tmp_path: Path) -> None:
    class Ear(pb.Callback):
        def __init__(self) -> None:
            self.heard: list[str] = []

        def on_start(self, run: pb.Run) -> None:
            self.heard.append("start")

        def on_entry(self, entry: Any) -> None:
            self.heard.append(type(entry).__name__)

        def on_end(self, run: pb.Run) -> None:
            self.heard.append("end")

    class Broken(pb.Callback):
        def on_entry(self, entry: Any) -> None:
            raise RuntimeError("no network")

    ear = Ear()
    with pytest.warns(UserWarning, match=r"put aside: RuntimeError: no network \(test_tune.py, line"):
        run = tune(tmp_path, callbacks=[Broken(), ear])
    assert run.finished
    assert (ear.heard[0], ear.heard[-1]) == ("start", "end")
    assert ear.heard.count("ReportEntry") == 20
    assert any("no network" in entry.message for entry in run.entries if isinstance(entry, NoteEntry))


def test_a_run_goes_on_with_code_that_has_moved_and_status_tells_where_it_stands(tmp_path: Path) -> None:
    with pytest.raises(
        pb.TrainingFailedError, match=r"RuntimeError: this never works \(models.py, line \d+, in step\)"
    ):
        tune(tmp_path, trainable=models.AlwaysFails)
    stopped = pb.load(tmp_path / "run").status()
    assert {agent["state"] for agent in stopped["agents"]} == {stopped["state"]} == {"stopped"}
    done = pb.resume(tmp_path / "run", trainable=models.Model, executor=pb.Inline())
    assert told(done)[1] == told(tune(tmp_path / "as-if"))[1]
    assert {agent["state"] for agent in done.status()["agents"]} == {"done"}
    assert all(set(agent["hparams"]) == set(models.SPACE.params) for agent in done.status()["agents"])
    assert done.columns()["w"] == [entry.metrics["w"] for entry in done.reports]


def test_a_run_without_a_finite_score_says_so(tmp_path: Path) -> None:
    done = tune(tmp_path, trainable=models.NotANumber, intervals=2)
    with pytest.raises(pb.TrainingFailedError, match="is finished, but none of its 8 scores was finite"):
        _ = done.best


def test_replay_follows_the_schedule_with_other_seeds(tmp_path: Path) -> None:
    run = tune(tmp_path)
    again = pb.replay(run, seeds=3, executor=pb.Inline(), directory=tmp_path / "replay")
    assert again.finished
    assert [again.schedule(agent) for agent in range(3)] == [run.best.schedule] * 3
    assert len({round(float(score), 9) for score in again.history.score}) == len(again.history)


def test_history_as_tables(tmp_path: Path) -> None:
    run = tune(tmp_path)
    columns = run.history.columns()
    assert list(columns) == ["agent", "interval", "score", "improvement", "donor", "lr", "kind", "n"]
    assert columns["kind"][0] in ("a", "b")
    assert len(columns["lr"]) == 20
    for frame in (run.history.to_pandas(), run.history.to_polars()):
        assert list(frame.columns) == list(columns)
        assert frame["score"].max() == run.best.score
        assert len(frame) == 20


def test_the_state_of_a_run_is_plain_json(tmp_path: Path) -> None:
    state = tune(tmp_path).status()
    assert json.loads(json.dumps(state)) == state
    assert state["state"] == "finished"
    assert state["reports"] == state["budget"] == 20


def test_functional_state_survives_saving_without_pickle(tmp_path: Path) -> None:
    model: Any = models.FUNCTIONAL(5)
    model.step({"lr": 0.5})
    (tmp_path / "c").mkdir()
    model.save(tmp_path / "c")
    other: Any = models.FUNCTIONAL(6)
    other.load(tmp_path / "c")
    assert other.state["steps"] == 1
    assert other.state["pair"][1] == [None, "x"]
    np.testing.assert_array_equal(other.state["w"], model.state["w"])
    with pytest.raises(pb.TrainableError, match="object"):
        pb.functional(lambda seed: {"w": object()}, models.step)(0).save(tmp_path / "c")


def test_functional_state_keeps_named_tuples_and_jax_arrays(tmp_path: Path) -> None:
    jnp = pytest.importorskip("jax.numpy")
    optax = pytest.importorskip("optax")

    def init(seed: int) -> Any:
        weights = {"w": jnp.ones(3, jnp.bfloat16)}
        return {"weights": weights, "adam": optax.adam(0.1).init(weights)}

    model: Any = pb.functional(init, lambda state, _: (state, 0.0))(0)
    other: Any = pb.functional(init, lambda state, _: (state, 0.0))(1)
    model.save(tmp_path)
    other.load(tmp_path)
    assert type(other.state["adam"][0]) is type(model.state["adam"][0])
    assert other.state["weights"]["w"].dtype == jnp.bfloat16
    assert other.state["weights"]["w"].at[0].set(2.0)[0] == 2.0


def test_a_callback_that_raises_at_the_end_cannot_stop_a_run(tmp_path: Path) -> None:
    class Broken(pb.Callback):
        def on_end(self, run: pb.Run) -> None:
            raise RuntimeError("no network")

    with pytest.warns(UserWarning, match="no network"):
        assert tune(tmp_path, callbacks=[Broken()]).finished


def test_a_seed_may_be_a_numpy_number(tmp_path: Path) -> None:
    assert tune(tmp_path, seed=np.int64(3)).settings.seed == 3


class TestBadInput:
    @pytest.mark.parametrize(
        ("trainable", "words"),
        [
            (models.NoLoad, "NoLoad has no load"),
            (models.Model(0), "pass the class, not an instance"),
            (3, "a trainable is a class, but got 3"),
        ],
    )
    def test_what_is_no_trainable_is_refused_before_anything_starts(
        self, tmp_path: Path, trainable: Any, words: str
    ) -> None:
        with pytest.raises(pb.TrainableError, match=words):
            tune(tmp_path, trainable=trainable)
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize(
        ("given", "error", "words"),
        [
            ({"population": 0}, pb.OptionError, "`population >= 1`"),
            ({"intervals": 0}, pb.OptionError, "`intervals >= 1`"),
            ({"mode": "best"}, pb.OptionError, "mode must be 'max' or 'min'"),
            ({"retries": -1}, pb.OptionError, "`retries >= 0`"),
            ({"metric": ""}, pb.OptionError, "metric must be"),
            ({"executor": "inline"}, pb.OptionError, "executor must be .* but got 'inline'"),
            ({"executor": pb.Inline}, pb.OptionError, "executor must be"),
            ({"callbacks": [print]}, pb.OptionError, "callbacks must be"),
            ({"callbacks": pb.Callback()}, pb.OptionError, "callbacks must be a list"),
        ],
    )
    def test_settings_that_cannot_be_are_refused(
        self, tmp_path: Path, given: dict[str, Any], error: type[Exception], words: str
    ) -> None:
        with pytest.raises(error, match=words):
            tune(tmp_path, **given)
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize("options", [{"workers": 0}, {"deadline": 0}, {"threads": 0}])
    def test_executors_refuse_what_cannot_be(self, options: dict[str, Any]) -> None:
        with pytest.raises(pb.OptionError, match="must hold"):
            pb.Processes(**options)

    def test_a_folder_that_holds_a_run_is_not_overwritten(self, tmp_path: Path) -> None:
        run = tune(tmp_path)
        with pytest.raises(pb.RunError, match="holds a run already"):
            tune(tmp_path)
        assert pb.load(run.directory).best == run.best

    def test_a_folder_without_a_run_is_named(self, tmp_path: Path) -> None:
        for act in (pb.load, pb.resume, verify):
            with pytest.raises(pb.RunError, match="there is no run in"):
                act(tmp_path)

    def test_hparams_that_are_not_in_effect_are_named(self, tmp_path: Path) -> None:
        with pytest.raises(pb.TrainableError, match=r"'lr' was set to .*, but 0\.123 is in effect"):
            tune(tmp_path, trainable=models.Stubborn, retries=0)


class TestCheckTrainable:
    def findings(self, trainable: Any) -> list[str]:
        return [finding.text for finding in pb.check_trainable(trainable, models.SPACE) if not finding.ok]

    @pytest.mark.parametrize("trainable", [models.Model, models.FUNCTIONAL])
    def test_a_sound_one_passes(self, trainable: Any) -> None:
        assert self.findings(trainable) == []

    @pytest.mark.parametrize(
        ("trainable", "words"),
        [
            (models.Forgetful, "save everything that training depends on"),
            (models.AlwaysFails, r"RuntimeError: this never works \(models.py, line"),
            (models.Stubborn, "'lr' was set to"),
            (models.NoLoad, "has no load"),
            (models.NoSeed, r"made with a seed, but NoSeed\(0\) cannot be called"),
            (models.KeepsItsRate, "does step use the hparams it is given"),
        ],
    )
    def test_what_is_wrong_is_said(self, trainable: Any, words: str) -> None:
        import re

        assert any(re.search(words, text) for text in self.findings(trainable))
