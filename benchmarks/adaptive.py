"""Whether a population that shrinks when the acquisition has little left to gain pays: the PB2 paper's future work.

    python -m benchmarks.adaptive [--seeds N]

A run begins with 8 agents. One that is to try new hparams retires instead when the deviation of the gain at those is
below a share of the deviation before anything was known: the bonus that the bound would pay for trying them is small.
Beside it, populations of fixed sizes. What counts is the regret for the intervals trained.
"""

import argparse
import os
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context

import numpy as np

from benchmarks._moved import moved
from popbandits.population import Action, Decision, Stop, Train, View
from popbandits.problems import FAMILIES, Regrets, run_family
from popbandits.strategies import PB2, next_age

SIZE, LEAST, INTERVALS = 8, 2, 20  # agents at first and at the least
SHARES = (0.2, 0.3, 0.4)
PROBLEMS = ("peak-3d", "peak-static", "peak-jumps")


@dataclass(frozen=True)
class ShrinkingPB2(PB2):
    """PB2 whose agents retire when there is little to be learned from what they would try."""

    share: float = 0.3

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        there = tuple(row if agent in due else -1 for agent, row in enumerate(view.last))  # the retired are not ranked
        decision = super().decide(replace(view, last=there), due)
        posterior = self.model(view.history, decision.notes, view.size)
        if posterior is None:
            return decision
        actions: list[Action] = []
        left = len(decision.trained)
        for action in decision:
            if isinstance(action, Train) and moved(action, view) and left > LEAST:
                point = view.space.encode(action.hparams)[None, :]
                t = float(next_age(view, action.source))
                _, deviation = posterior.mean_and_deviation(point, t)
                if deviation[0] < self.share * np.sqrt(posterior.kernel.variance(posterior.theta, t)):
                    left -= 1
                    actions.append(Stop(action.agent))
                    continue
            actions.append(action)
        return replace(decision, actions=tuple(actions))


def _one(problem: str, size: int, share: float, seed: int) -> tuple[float, int]:
    strategy = ShrinkingPB2(share=share) if share else PB2()
    outcome = run_family(FAMILIES[problem], strategy, size=size, intervals=INTERVALS, seed=seed)
    assert outcome is not None
    return outcome.regret, len(outcome.history)


def main(seeds: int) -> None:
    """Print regret and intervals trained, for fixed sizes and for thresholds."""
    os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    fixed = [(f"{size} agents", size, 0.0) for size in (3, 4, 6, 8)]
    shrinking = [(f"8, retire below {share}", SIZE, share) for share in SHARES]
    with get_context("spawn").Pool(2) as pool:
        for problem in PROBLEMS:
            print(f"\n| {problem}, {seeds} seeds | intervals trained | regret |\n|---|---|---|")
            for name, size, share in fixed + shrinking:
                outcomes = pool.map(partial(_one, problem, size, share), range(seeds), chunksize=2)
                cell = Regrets(name, problem, tuple(regret for regret, _ in outcomes))
                trained = np.mean([reports for _, reports in outcomes])
                print(f"| {name} | {trained:.0f} | {cell.mean:.3f} ± {cell.half_width:.3f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40)
    main(parser.parse_args().seeds)
