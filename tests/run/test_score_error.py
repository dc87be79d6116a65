"""The standard error of a score: from what a step returns to the log, the history, strategies and what people see."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popbandits as pb
from popbandits.population import View
from popbandits.run import ReportEntry, Settings, Target, start, verify
from popbandits.run._log import Log
from popbandits.run._step import scored
from tests.drive import Interrupt
from tests.models import SPACE, Model, Reseedable


class Heard(pb.PBT):
    """PBT that keeps what it was shown."""

    views: list[View] = []  # noqa: RUF012  (a strategy is frozen; the test reads what all of them were shown)

    def decide(self, view: View, due: tuple[int, ...]) -> pb.Decision:
        self.views.append(view)
        return super().decide(view, due)


def tuned(folder: Path, trainable: Any = Reseedable, **options: Any) -> pb.Run:
    given: dict[str, Any] = {"strategy": pb.PBT(), "population": 4, "intervals": 3, "executor": pb.Inline()}
    return pb.tune(trainable, SPACE, directory=folder, **given | options)


def test_it_is_kept_in_the_log_the_history_and_the_columns(tmp_path: Path) -> None:
    run = tuned(tmp_path / "run")
    assert run.history.score_error.tolist() == [0.01] * 12
    assert list(run.columns()["score_error"]) == [0.01] * 12
    assert "metrics.score_error" not in run.columns()
    assert run.best.score_error == 0.01
    again = pb.load(tmp_path / "run")
    assert again.history.score_error.tolist() == run.history.score_error.tolist()
    state = again.status()
    assert state["best"]["score_error"] == 0.01
    assert [agent["score_error"] for agent in state["agents"]] == [0.01] * 4
    assert all(finding.ok for finding in verify(tmp_path / "run"))


def test_a_trainable_without_one_has_nan_in_the_history_and_no_column(tmp_path: Path) -> None:
    run = tuned(tmp_path / "run", Model)
    assert np.isnan(run.history.score_error).all()
    assert "score_error" not in run.columns()
    assert run.best.score_error is None
    log = Log.open(tmp_path / "run")
    assert all(entry.score_error is None for entry in log.entries() if isinstance(entry, ReportEntry))
    log.close()


def test_strategies_see_it(tmp_path: Path) -> None:
    Heard.views.clear()
    settings = Settings(Target.of(Reseedable), SPACE, pb.PBT(), 4, 3, 0)
    run = start(settings, pb.Inline(), tmp_path / "run", [])
    population = pb.Population(SPACE, Heard(), size=4, intervals=3)
    population.start()
    for row in range(4):
        population.tell(row, float(run.history.score[row]), score_error=0.5)
    assert Heard.views[-1].history.score_error.tolist() == [0.5] * 4


def test_a_resumed_run_keeps_it(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        tuned(tmp_path / "run", callbacks=[Interrupt(after=5)])
    run = pb.resume(tmp_path / "run", executor=pb.Inline())
    assert run.history.score_error.tolist() == [0.01] * 12
    assert all(finding.ok for finding in verify(tmp_path / "run"))


@pytest.mark.parametrize("given", [-0.1, float("nan"), float("inf"), "0.1", True, [0.1], complex(1)])
def test_what_is_no_error_is_refused_in_one_sentence(given: Any) -> None:
    population = pb.Population({"x": (0.0, 1.0)}, pb.PBT(), size=2, intervals=2)
    population.start()
    with pytest.raises(pb.ScoreError, match="the score_error of agent 0 must be a finite number, 0 or above, but got"):
        population.tell(0, 1.0, score_error=given)
    assert len(population.history) == 0
    population.tell(0, 1.0, score_error=np.float32(0.5))
    assert population.history.score_error.tolist() == [0.5]


@pytest.mark.parametrize(
    ("given", "told"),
    [(-0.1, "score_error of an interval must be"), (float("nan"), "but got nan"), ("0.1", "must be a number")],
)
def test_a_step_that_returns_no_error_is_told_so(given: Any, told: str) -> None:
    with pytest.raises(pb.PopbanditsError, match=told):
        scored({"score": 1.0, "score_error": given}, "score")


def test_the_error_of_a_score_that_is_not_finite_tells_nothing() -> None:
    population = pb.Population({"x": (0.0, 1.0)}, pb.PBT(), size=2, intervals=2)
    population.start()
    population.tell(0, float("nan"), score_error=float("nan"))
    assert np.isnan(population.history.score_error[0])
    assert scored({"score": float("nan"), "score_error": float("nan")}, "score")[0] != 0


def test_a_lower_metric_has_its_error_too(tmp_path: Path) -> None:
    run = tuned(tmp_path / "run", metric="w", mode="min")
    assert run.best.score_error == 0.01
    assert json.dumps(run.status())
