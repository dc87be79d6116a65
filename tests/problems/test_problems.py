import subprocess
import sys
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

import popbandits as pb
from benchmarks.references import VARIANTS
from popbandits._random import generator
from popbandits.population import Strategy
from popbandits.problems import (
    BITING,
    FAMILIES,
    Deceptive,
    Dip,
    GPDraw,
    IllConditioned,
    Lottery,
    Mixed,
    MovingPeak,
    NoisySGD,
    Plateau,
    Problem,
    Quadratic,
    quality,
    run_family,
    signal_size,
    simulate,
)

PROBLEMS: list[Problem] = [
    MovingPeak(2, 0.05, seed=1),
    MovingPeak(3, 0.02, 5, seed=2),
    GPDraw(2, 0.1, seed=3),
    Quadratic(),
    Deceptive(),
    NoisySGD(),
    Mixed(seed=4),
    Dip(seed=1),
    Lottery(seed=2),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_no_schedule_beats_the_optimum(problem: Problem) -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        weights = problem.fresh(rng)
        for interval in range(1, 9):
            weights = problem.train(weights, problem.space.sample(rng), interval, rng)
            assert problem.score(weights) <= problem.optimum(interval) + 1e-9


def climb(problem: Problem, schedule: Sequence[Mapping[str, object]]) -> float:
    rng = np.random.default_rng(0)
    weights = problem.fresh(rng)
    for interval, hparams in enumerate(schedule, 1):
        weights = problem.train(weights, hparams, interval, rng)
    return problem.score(weights)


def test_the_optimum_of_the_moving_peak_is_reached_at_its_centre() -> None:
    problem = MovingPeak(2, 0.05, seed=1)
    best = [{"x0": float(c[0]), "x1": float(c[1])} for c in problem.centres[:8]]
    assert climb(problem, best) == pytest.approx(problem.optimum(8))


def test_the_optimum_of_the_quadratic_is_reached_with_its_true_coefficients() -> None:
    assert climb(Quadratic(), [{"h0": 1.0, "h1": 1.0}] * 8) == pytest.approx(Quadratic().optimum(8))


def test_the_optimum_of_the_deceptive_problem_saves_first_and_spends_last() -> None:
    reached = [climb(Deceptive(), [{"spend": 0.0}] * s + [{"spend": 1.0}] * (20 - s)) for s in range(20)]
    assert max(reached) == pytest.approx(Deceptive().optimum(20))
    assert 5 < int(np.argmax(reached)) < 19
    assert reached[0] < 0.5 * max(reached)  # greed gets less than half


def test_the_best_learning_rate_of_noisy_sgd_falls() -> None:
    problem, rates, rng = NoisySGD(), np.logspace(-4, 0, 400), np.random.default_rng(0)
    weights, chosen = problem.fresh(rng), []
    for interval in range(1, 9):
        after = [problem.train(weights, {"lr": rate}, interval, rng) for rate in rates]
        best = int(np.argmax([problem.score(w) for w in after]))
        weights = after[best]
        chosen.append(rates[best])
    assert chosen == sorted(chosen, reverse=True)
    assert problem.score(weights) == pytest.approx(problem.optimum(8), abs=1e-3)


def test_the_optimum_of_the_mixed_problem_changes_kind() -> None:
    problem = Mixed(seed=4)
    best = [max("abc", key=lambda kind: problem.height(kind, t)) for t in range(1, 41)]
    assert len(set(best)) == 3


def test_a_gp_draws_maxima_are_those_of_a_dense_grid() -> None:
    problem = GPDraw(1, 0.2, seed=5)
    grid = np.linspace(0, 1, 5001)[:, None]
    for t in (1, 5, 20):
        assert problem.maximum(t) == pytest.approx(problem.f(t, grid).max(), abs=1e-4)


@pytest.mark.parametrize("omega", [0.0, 0.1, 0.9])
def test_a_gp_draw_forgets_at_the_rate_of_omega(omega: float) -> None:
    x = np.random.default_rng(0).random((1, 1))
    pairs = np.array([[GPDraw(1, omega, seed=s).f(t, x)[0] for t in (1, 4)] for s in range(600)])
    assert np.corrcoef(pairs.T)[0, 1] == pytest.approx((1 - omega) ** 1.5, abs=0.1)


def test_noise_is_measured_in_units_of_the_signal() -> None:
    problem = MovingPeak(2, 0.0, seed=1)
    rng = generator(0, "check")
    spread = np.std([problem.score(problem.train(np.zeros(1), problem.space.sample(rng), 1, rng)) for _ in range(2000)])
    assert signal_size(problem) == pytest.approx(spread, rel=0.15)


def test_the_optimal_schedule_has_regret_zero_and_none_has_less() -> None:
    outcome = simulate(Quadratic(), pb.PB2(), size=4, intervals=10)
    assert 0 <= outcome.regret < 0.2
    assert len(outcome.history) == 40


@pytest.mark.parametrize("strategy", [pb.PB2(), pb.PBT(), pb.ASHA(), pb.BayesOpt(), pb.RandomSearch()], ids=str)
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_no_strategy_has_less_than_no_regret(problem: Problem, strategy: Strategy) -> None:
    """A trial that begins anew in the middle of a run begins at the problem's beginning too."""
    assert simulate(problem, strategy, size=3, intervals=8, seed=1).regret >= -1e-9


@pytest.mark.parametrize("problem", [GPDraw(), MovingPeak()], ids=str)
def test_a_problem_that_is_too_short_says_so(problem: Problem) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(pb.OptionError, match="has 1000 intervals"):
        problem.train(problem.fresh(rng), problem.space.sample(rng), 1001, rng)


def test_a_run_is_the_same_for_the_same_seed() -> None:
    runs = [simulate(Mixed(), pb.PB2(), size=4, intervals=8, seed=s, noise=0.5).regret for s in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_quality_runs_every_cell_and_refuses_unknown_names_first() -> None:
    cells = list(quality(["random", "pbt"], ["quadratic"], seeds=3, size=4, intervals=5, workers=2))
    assert [(cell.strategy, len(cell.regrets)) for cell in cells] == [("random", 3), ("pbt", 3)]
    assert cells[0].half_width > 0
    with pytest.raises(pb.OptionError, match="'nothing'"):
        quality(["random"], ["nothing"], seeds=2, size=4, intervals=5)
    with pytest.raises(pb.OptionError, match="did you mean 'pbt'"):
        quality(["ptb"], list(FAMILIES), seeds=2, size=4, intervals=5)


def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from popbandits.cli import main; main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


def test_the_command_prints_a_table() -> None:
    done = cli("bench", "quality", "--strategies", "random,pbt", "--problems", "quadratic", "--seeds", "2")
    assert done.returncode == 0, done.stderr
    assert "quadratic" in done.stdout
    assert "±" in done.stdout


def test_the_command_refuses_in_one_sentence() -> None:
    done = cli("bench", "quality", "--problems", "quadratics")
    assert done.returncode == 2
    assert done.stderr.startswith("popbandits: a problem is one of")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def mean_score(problem: Problem, schedule: Sequence[Mapping[str, object]], runs: int = 30) -> float:
    reached = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        weights = problem.fresh(rng)
        for interval, hparams in enumerate(schedule, 1):
            weights = problem.train(weights, hparams, interval, rng)
        reached.append(problem.score(weights))
    return float(np.mean(reached))


class TestProblemsThatBite:
    @pytest.mark.parametrize("problem", VARIANTS, ids=str)
    def test_a_good_schedule_is_several_times_better_than_the_best_constant(self, problem: IllConditioned) -> None:
        known = problem.references(20)
        constant, schedule = (np.log10(problem.expected_loss(known[n])) for n in ("best constant", "good schedule"))
        assert schedule < constant - 0.5
        assert problem.optimum(20) == pytest.approx(-schedule)

    def test_the_expected_loss_is_what_sgd_reaches_on_average(self) -> None:
        problem = IllConditioned(16)
        schedule = [{"lr": 0.3, "batch": 64, "momentum": 0.5}] * 3 + [{"lr": 0.05, "batch": 4, "momentum": 0.9}] * 2
        losses = []
        for seed in range(300):
            rng = np.random.default_rng(seed)
            weights = problem.fresh(rng)
            for interval, hparams in enumerate(schedule, 1):
                weights = problem.train(weights, hparams, interval, rng)
            losses.append(10 ** -problem.score(weights))
        assert np.mean(losses) == pytest.approx(problem.expected_loss(schedule), rel=0.15)

    def test_doing_nothing_leads_through_the_dip_and_loses_in_the_end(self) -> None:
        problem = Dip(seed=3)
        learning = problem.references(20)["best constant"]
        for intervals in (1, 2, 3, 4):
            assert climb(problem, learning[:intervals]) < problem.score(problem.fresh(np.random.default_rng(0)))
        assert climb(problem, learning) == pytest.approx(problem.optimum(20))

    def test_on_the_plateau_chance_decides_and_beyond_it_progress(self) -> None:
        problem = Plateau(seed=1)
        best, worst = problem.references(20)["best constant"], problem.space.decode(np.round(1 - problem.centre))
        early = [mean_score(problem, [hparams] * 6, 200) for hparams in (best[0], worst)]
        assert early == pytest.approx([0.0, 0.0], abs=0.2)
        assert mean_score(problem, best) > 10 + mean_score(problem, [worst] * 20)

    def test_no_early_score_tells_a_talent(self) -> None:
        problem = Lottery(seed=1)
        best = problem.references(20)["best constant"]
        tickets = [problem.fresh(np.random.default_rng(seed)) for seed in range(40)]
        rng = np.random.default_rng(0)
        early, late = [], []
        for ticket in tickets:
            weights = ticket
            for interval, hparams in enumerate(best, 1):
                weights = problem.train(weights, hparams, interval, rng)
                if interval == 5:
                    early.append(problem.score(weights))
            late.append(problem.score(weights))
        assert max(early) - min(early) < 1e-9
        assert sorted(set(np.round(late, 6))) == [5 + 0.25 * 15, 20.0]
        assert 4 <= sum(score > 19 for score in late) <= 18

    def test_a_run_on_a_problem_that_draws_is_the_same_for_the_same_seed(self) -> None:
        runs = [
            simulate(Plateau(), pb.PBT(), size=3, intervals=4, seed=s, score_error=0.1).history.score.tolist()
            for s in (1, 1, 2)
        ]
        assert runs[0] == runs[1] != runs[2]

    def test_strategies_are_told_the_error_of_the_score(self) -> None:
        found = simulate(Dip(), pb.PBT(), size=3, intervals=2, score_error=0.2).history
        assert found.score_error.tolist() == [0.2] * 6

    def test_references_are_run_like_strategies_where_there_are_some(self) -> None:
        options = {"size": 2, "intervals": 4, "seed": 0}
        assert run_family(BITING["dip"], "best constant", **options) is not None
        assert run_family(BITING["dip"], "good schedule", **options) is None
        assert run_family(FAMILIES["peak-3d"], "best constant", **options) is None
        found = list(quality(["pbt", "good schedule"], ["dip", "ill-conditioned"], seeds=2, size=2, intervals=2))
        assert [(cell.problem, cell.strategy) for cell in found] == [
            ("dip", "pbt"),
            ("ill-conditioned", "pbt"),
            ("ill-conditioned", "good schedule"),
        ]
