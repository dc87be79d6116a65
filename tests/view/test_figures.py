import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popbandits as pb
from popbandits.view import comparison, report
from popbandits.view.figures import (
    FIGURES,
    beliefs_data,
    compare_data,
    curves_data,
    draw_curves,
    draw_lineage,
    learned_data,
    lineage_data,
    schedules_data,
    search_data,
    timeline_data,
)
from tests import models

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> pb.Run:
    folder = tmp_path_factory.mktemp("figures") / "run"
    return pb.tune(
        models.Model, models.SPACE, population=4, intervals=6, seed=3, executor=pb.Inline(), directory=folder
    )


def test_curves_are_the_scores_and_the_best_lineage_ends_with_the_best(run: pb.Run) -> None:
    curves = curves_data(run)
    assert sum(len(x) for x, _ in curves.agents.values()) == len(run.history)
    assert curves.best[0] == list(range(1, run.best.interval + 1))
    assert curves.best[1][-1] == run.best.score
    assert [(c[0] + 1, c[2], c[3]) for c in curves.copies] == [(c.interval, c.agent, c.donor) for c in run.lineage]


def test_schedules_are_in_the_users_units_on_their_own_scales(run: pb.Run) -> None:
    lr, kind, n = schedules_data(run)
    assert (lr.name, lr.log, kind.values, n.log) == ("lr", True, ["a", "b"], False)
    assert lr.best[1] == pytest.approx([hparams["lr"] for hparams in run.best.schedule])
    assert [kind.values[int(v)] for v in kind.best[1]] == [hparams["kind"] for hparams in run.best.schedule]


def test_the_lineage_of_the_best_goes_from_donor_to_copy(run: pb.Run) -> None:
    lineage = lineage_data(run)
    assert set(lineage.lives) == {0, 1, 2, 3}
    assert lineage.best[1][-1] == run.best.agent
    for (_, before), (interval, agent) in zip(
        zip(*lineage.best, strict=True), list(zip(*lineage.best, strict=True))[1:], strict=False
    ):
        assert before == agent or (interval, agent, before) in lineage.copies


def test_every_configuration_is_in_the_search(run: pb.Run) -> None:
    search = search_data(run)
    assert search.total == len(search.interval) == 24
    assert search.names == ["lr", "kind", "n"]
    assert search.values[0] == pytest.approx(run.history.values[:, 0].tolist())


def test_the_belief_is_that_of_the_decision(run: pb.Run) -> None:
    beliefs = beliefs_data(run)
    assert [belief.interval for belief in beliefs] == [4, 5, 6], "the decisions that asked the model"
    values, mean, deviation = beliefs[-1].along["lr"]
    assert values[0] == pytest.approx(1e-3)
    assert values[-1] == pytest.approx(1.0)
    assert len(mean) == len(deviation) == 41
    assert min(deviation) >= 0
    # More is better here, and the model has found out.
    assert mean[-1] > mean[0]
    kinds, *levels = beliefs[-1].along["kind"]
    assert kinds == ["a", "b"]
    assert [len(level) for level in levels] == [2, 2]
    assert beliefs[-1].along["n"][0] == [1, 2, 3, 4]


def test_what_was_learned_has_a_point_for_each_decision(run: pb.Run) -> None:
    learned = learned_data(run)
    assert len(learned.omega) == len(learned.noise) == len(learned.lengthscales["lr"]) == len(learned.interval)
    assert all(0 <= omega <= 1 for omega in learned.omega)


def test_the_timeline_covers_no_more_than_the_run(run: pb.Run) -> None:
    timeline = timeline_data(run)
    agents, starts, durations = timeline.parts["training"]
    assert sorted(set(agents)) == [0, 1, 2, 3]
    assert len(starts) == 24
    assert min(durations) >= 0
    assert all(0 <= share <= 1 for share in timeline.busy.values())


def test_every_drawing_is_json_without_nan_and_plotly_takes_it(run: pb.Run) -> None:
    for name, draw in FIGURES.items():
        json.dumps(draw(run), allow_nan=False)
        assert getattr(run.plot, name)().data
    with pytest.raises(AttributeError, match="there is no figure 'pie'; there are curves"):
        run.plot.pie  # noqa: B018


def test_many_agents_are_summed_up(tmp_path: Path) -> None:
    many = pb.tune(
        models.Model,
        models.SPACE,
        population=40,
        intervals=3,
        strategy=pb.PBT(),
        executor=pb.Inline(),
        directory=tmp_path / "run",
    )
    curves = curves_data(many)
    assert not curves.agents
    assert curves.bands is not None
    intervals, (least, _, median, _, greatest) = curves.bands
    assert intervals == [1, 2, 3]
    assert greatest[-1] == pytest.approx(many.history.score[many.history.interval == 3].max())
    assert least[0] <= median[0] <= greatest[0]
    lineage = lineage_data(many)
    assert lineage.hidden == 40 - 24
    assert set(lineage.best[1]) <= set(lineage.lives)
    assert len(draw_curves(curves)["data"]) == 4
    assert "16 agents not shown" in draw_lineage(lineage)["layout"]["title"]["text"]


def test_a_report_needs_nothing_from_outside_and_fits_in_six_megabytes(run: pb.Run) -> None:
    page = report(run)
    assert len(page.encode()) < 6_000_000
    own = re.sub(r"<script>/\*\*.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"""(src|href)=["']?https?:""", own)
    for name in FIGURES:
        assert f'id="{name}"' in page


class Hostile(models.Model):
    def step(self, hparams: Any) -> Any:
        if hparams["lr"] > 0.3:
            raise ValueError(HOSTILE)
        return {HOSTILE: -self.w}


def test_hostile_texts_reach_the_page_as_text(tmp_path: Path) -> None:
    space = {"lr": pb.Float(0.01, 1.0), HOSTILE: pb.Choice(HOSTILE, "b")}
    run = pb.tune(
        Hostile,
        space,
        population=4,
        intervals=3,
        metric=HOSTILE,
        retries=0,
        executor=pb.Inline(),
        directory=tmp_path / "run",
    )
    assert run.failures
    page = report(run)
    ours = page[: page.index("<script>/**")] if "<script>/**" in page else page
    assert "<img src=x" not in ours
    assert "alert(1)</script>" not in ours
    data = re.search(r'<script type="application/json" data-for="curves">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    assert json.loads(data[1])["layout"]["yaxis"]["title"]["text"] == HOSTILE.replace("<", "&lt;").replace(">", "&gt;")


def test_a_run_without_a_finite_score_has_a_report_too(tmp_path: Path) -> None:
    run = pb.tune(
        models.Infinite, models.SPACE, population=2, intervals=2, executor=pb.Inline(), directory=tmp_path / "run"
    )
    assert "finished, 4 of 4 intervals" in report(run)


def test_runs_are_compared_by_strategy_with_a_sentence(tmp_path: Path) -> None:
    runs = [
        pb.tune(
            models.Model,
            models.SPACE,
            population=2,
            intervals=3,
            seed=seed,
            strategy=strategy,
            executor=pb.Inline(),
            directory=tmp_path / f"{type(strategy).__name__}-{seed}",
        )
        for strategy in (pb.PBT(), pb.RandomSearch())
        for seed in range(3)
    ]
    compared = compare_data(runs)
    assert [len(finals) for finals in compared.finals.values()] == [3, 3]
    (median, low, high), _ = compared.groups.values()
    assert np.all(np.array(low) <= np.array(median))
    assert np.all(np.array(median) <= np.array(high))
    assert np.all(np.diff(median) >= 0)
    assert "Mann-Whitney p = " in compared.said
    assert "too few seeds" in compare_data([runs[0], runs[3]]).said
    assert "<!doctype html>" in comparison(runs)
    with pytest.raises(pb.OptionError, match="got none"):
        compare_data([])
    assert list(compared.groups) == ["PBT", "RandomSearch"]
    options: dict[str, Any] = {"strategy": pb.PBT(quantile=0.5), "executor": pb.Inline()}
    shorter = pb.tune(models.Model, models.SPACE, population=2, intervals=1, directory=tmp_path / "shorter", **options)
    cut = compare_data([*runs, shorter])
    assert "PBT(quantile=0.5)" in cut.groups
    assert "all compared after interval 1: " in cut.said
    more = pb.tune(models.Model, models.SPACE, population=3, intervals=1, directory=tmp_path / "more", **options)
    with pytest.raises(pb.OptionError, match=r"have one population, but .* has 2 and .*more has 3"):
        compare_data([*runs, more])
