import math
from collections import Counter

import pytest

import popbandits as pb
from popbandits.population import Population
from tests.drive import make, trained


def after(scores: list[float], strategy: pb.PBT | None = None, seed: int = 0) -> list[int | None]:
    """Whose weights each agent trains after one interval with these scores."""
    population = make(strategy or pb.PBT(), len(scores), 9, seed=seed)
    population.start()
    actions = [action for agent, score in enumerate(scores) for action in trained(population.tell(agent, score))]
    return [action.source for action in actions]


def test_the_bottom_quarter_copies_the_top_quarter() -> None:
    scores = [5.0, 1.0, 8.0, 3.0, 2.0, 7.0, 4.0, 6.0]
    for seed in range(10):
        sources = after(scores, seed=seed)
        assert [agent for agent, source in enumerate(sources) if source != agent] == [1, 4]
        assert {sources[1], sources[4]} <= {2, 5}


def test_donors_are_drawn_uniformly() -> None:
    drawn = Counter(after([1, 2, 3, 4, 5, 6, 7, 8], seed=seed)[0] for seed in range(400))
    assert set(drawn) == {6, 7}
    assert abs(drawn[6] - 200) < 50


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([3.0], [0]),
        ([1.0, 2.0], [1, 1]),
        ([2.0, 1.0, 3.0], [0, 2, 2]),
    ],
)
def test_small_populations_are_defined(scores: list[float], expected: list[int]) -> None:
    assert after(scores) == expected


@pytest.mark.parametrize("lost", [math.nan, math.inf, -math.inf])
def test_agents_without_a_finite_score_are_replaced_first_however_many(lost: float) -> None:
    assert after([lost, 1.0, 2.0, 3.0]) == [3, 1, 2, 3]
    assert after([lost, lost, lost, 3.0]) == [3, 3, 3, 3]
    assert after([lost, lost]) == [None, None]


def test_equal_scores_are_ranked_at_random() -> None:
    replaced = {agent for seed in range(40) for agent, s in enumerate(after([0.0] * 4, seed=seed)) if s != agent}
    assert replaced == {0, 1, 2, 3}


def test_quantile_zero_copies_only_in_place_of_the_lost() -> None:
    assert after([1.0, 2.0, 3.0], pb.PBT(quantile=0.0)) == [0, 1, 2]
    assert after([math.nan, 2.0, 3.0], pb.PBT(quantile=0.0)) == [2, 1, 2]


def test_out_of_step_an_agent_is_ranked_among_those_that_have_reported() -> None:
    population = make(pb.PBT(), 4, 9, sync=False)
    population.start()
    assert trained(population.tell(0, 5.0))[0].source == 0
    assert trained(population.tell(1, 1.0))[0].source == 0
    assert trained(population.tell(2, 9.0))[0].source == 2


class TestPBT:
    SPACE = pb.Space({"f": (0.0, 10.0), "n": pb.Int(1, 100), "c": pb.Choice("a", "b", "c")})

    def explored(self, strategy: pb.PBT, seed: int) -> tuple[dict[str, object], dict[str, object]]:
        population = Population(self.SPACE, strategy, size=2, intervals=9, seed=seed)
        first = population.start()
        population.tell(0, 1.0)
        copied = trained(population.tell(1, 2.0))[0]
        return dict(first.trained[1].hparams), dict(copied.hparams)

    def test_numbers_are_perturbed_by_a_factor_and_choices_move_to_a_neighbour(self) -> None:
        for seed in range(50):
            donor, copy = self.explored(pb.PBT(resample_probability=0.0), seed)
            assert any(copy["f"] == pytest.approx(min(10.0, donor["f"] * k)) for k in (0.8, 1.2))  # type: ignore[operator]
            assert copy["n"] != donor["n"] or donor["n"] in (1, 100)
            assert abs("abc".index(str(copy["c"])) - "abc".index(str(donor["c"]))) <= 1

    def test_resampling_draws_from_the_whole_space(self) -> None:
        drawn = [self.explored(pb.PBT(resample_probability=1.0), seed)[1] for seed in range(200)]
        assert {str(hparams["c"]) for hparams in drawn} == {"a", "b", "c"}
        values = [float(str(hparams["f"])) for hparams in drawn]
        assert min(values) < 1 < 9 < max(values)


class TestASHA:
    def test_one_in_four_goes_on_from_a_rung_and_the_budget_is_spent(self) -> None:
        population = make(pb.ASHA(), 4, 20)
        population.start()
        while population.training:
            for job in population.training.values():
                population.tell(job.agent, float(job.point.sum()) * job.interval)
        history = population.history
        assert len(history) == 80
        starts = int((history.donor < 0).sum())
        assert starts > 10

    def test_no_more_than_the_given_number_of_trials_start(self) -> None:
        population = make(pb.ASHA(starts=6), 4, 20)
        population.start()
        while population.training:
            for job in population.training.values():
                population.tell(job.agent, float(job.point.sum()))
        assert int((population.history.donor < 0).sum()) == 6

    def test_a_trial_trains_no_longer_than_an_agents_budget(self) -> None:
        population = make(pb.ASHA(), 2, 8)
        population.start()
        longest, age = 0, {0: 0, 1: 0}
        while population.training:
            for job in population.training.values():
                age[job.agent] = 1 if job.source is None else age[job.agent] + 1
                longest = max(longest, age[job.agent])
                population.tell(job.agent, float(job.interval))
        assert longest == 8


class TestBayesOpt:
    def test_trials_follow_one_another_and_the_best_goes_on_to_the_end(self) -> None:
        population = make(pb.BayesOpt(), 4, 10, space={"x": (0.0, 1.0)})
        assert len(population.start().actions) == 1
        ages: list[tuple[float, int]] = []
        age = 0
        while population.training:
            (job,) = population.training.values()
            age = 1 if job.source is None else age + 1
            ages.append((float(job.point[0]), age if job.source is None or ages[-1][1] == age - 1 else 6))
            population.tell(job.agent, -abs(float(job.point[0]) - 0.3))
        assert len(population.history) == 40
        starts = [x for x, a in ages if a == 1]
        assert len(starts) == 7
        assert abs(ages[-1][0] - 0.3) == min(abs(x - 0.3) for x in starts)

    def test_the_model_finds_what_random_trials_do_not(self) -> None:
        errors = []
        for seed in range(5):
            population = make(pb.BayesOpt(), 6, 2, space={"x": (0.0, 1.0), "y": (0.0, 1.0)}, seed=seed)
            population.start()
            while population.training:
                (job,) = population.training.values()
                population.tell(job.agent, -float(((job.point - [0.3, 0.8]) ** 2).sum()))
            assert population.best is not None
            errors.append(-population.best.score)
        assert sorted(errors)[2] < 0.01


@pytest.mark.parametrize("replaced", [math.nan, 0.5])
def test_out_of_step_an_agent_that_trains_a_copy_already_is_not_the_worst_any_more(replaced: float) -> None:
    population = make(pb.PBT(), 4, 9, sync=False)
    population.start()
    told = [population.tell(agent, score) for agent, score in enumerate([1.0, 5.0, replaced, 0.6])]
    sources = [trained(decision)[0].source for decision in told]
    assert sources == [0, 1, 1, 1], "the last is the worst of those that hold their own weights"


def test_out_of_step_the_best_is_not_replaced_because_all_others_were() -> None:
    population = make(pb.PBT(), 2, 9, sync=False)
    population.start()
    assert trained(population.tell(1, 2.0))[0].source == 1
    assert trained(population.tell(0, 1.0))[0].source == 1
    assert trained(population.tell(1, 5.0))[0].source == 1
