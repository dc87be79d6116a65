"""How many threads BLAS may use is a matter of the machine: no decision may depend on it, and nobody else's speed."""

import os
import subprocess
import sys
import threading

import pytest
from threadpoolctl import ThreadpoolController

from popbandits.gp import one_blas_thread

DECIDE = """
import popbandits as pb
from popbandits.problems import FAMILIES, simulate
problem, noise, _ = FAMILIES["mixed"]
for strategy in (pb.PB2(), pb.BayesOpt()):
    print(simulate(problem(0), strategy, size=4, intervals=25, seed=0, noise=noise).regret.hex())
"""


def blas_threads() -> set[int]:
    return {library["num_threads"] for library in ThreadpoolController().info() if library["user_api"] == "blas"}


def test_decisions_are_the_same_to_the_last_digit_with_one_blas_thread_and_with_four() -> None:
    printed = set()
    for threads in ("1", "4"):
        environment = os.environ | dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), threads)
        done = subprocess.run(
            [sys.executable, "-c", DECIDE], env=environment, check=True, capture_output=True, text=True
        )
        printed.add(done.stdout)
    assert len(printed) == 1


def test_what_the_limit_was_it_is_again_also_after_an_error_and_from_two_threads_at_once() -> None:
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        before = blas_threads()
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == before
        with pytest.raises(KeyError), one_blas_thread():
            raise KeyError
        both = [threading.Thread(target=_limit_often) for _ in range(2)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        assert blas_threads() == before


def _limit_often() -> None:
    for _ in range(200):
        with one_blas_thread():
            pass
