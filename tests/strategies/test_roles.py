"""Who copies, who explores, who scouts, who goes on."""

import numpy as np
import pytest

import popbandits as pb
from popbandits.strategies._roles import assign
from popbandits.testing import decisions, drive
from tests.drive import make, seen


def test_the_worst_copy_the_worse_half_of_the_middle_scouts_and_the_rest_goes_on() -> None:
    roles = assign(seen([0, 1, 2, 3, 4, 5, 6, 7]), tuple(range(8)), 0.25, "middle")
    assert (roles.explorers, roles.scouts, roles.keepers) == ((0, 1), (2, 3), (4, 5, 6, 7))
    assert set(roles.donors) == {6, 7}
    assert all(roles.sources[agent] in {6, 7} for agent in roles.explorers)


def test_a_surprise_sends_all_but_the_donors_to_scout_and_changes_no_weights() -> None:
    roles = assign(seen([0, 1, 2, 3, 4, 5, 6, 7]), tuple(range(8)), 0.25, "middle")
    surprised = roles.surprised()
    assert sorted(surprised.scouts) == [0, 1, 2, 3, 4, 5]
    assert (surprised.explorers, surprised.keepers) == ((), (6, 7))
    assert surprised.sources == roles.sources


@pytest.mark.parametrize(("strategy", "told"), [(pb.PB2(), True), (pb.PB2(explore="copied"), False)])
def test_a_function_that_jumps_surprises_pb2_and_it_says_so(strategy: pb.PB2, told: bool) -> None:
    population = make(strategy, 8, 16, space={"x": (0.0, 1.0)}, seed=3)
    rng = np.random.default_rng(3)

    def jumps(job: pb.population.Job) -> float:
        best = 0.2 if job.interval <= 10 else 0.8
        before = 0.0 if np.isnan(job.score_before) else job.score_before
        gain = float(np.exp(-30.0 * (float(job.point[0]) - best) ** 2))
        return before + gain + 0.1 * float(rng.standard_normal())

    surprises = [d.notes["surprises"] for d in decisions(drive(population, jumps)) if "surprises" in d.notes]
    at_the_jump = surprises[10] - surprises[9]  # after the eleventh interval
    assert at_the_jump == int(told)
    assert population.notes["block"] <= population.notes["rows"]
