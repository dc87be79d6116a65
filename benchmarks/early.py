"""What the first intervals tell: how far early scores can be trusted, task by task.

    python -m benchmarks.early [TASK …]

Populations are trained by random search, so that nobody copies or changes hparams, on the seeds that choices are made
on. For each task it prints:

- how the scores after 1, 2, 4 and 8 intervals rank agents, compared with the best score of each: Spearman's
  correlation over all agents, and over the quarter that ends best;
- how often the score of an agent falls from one interval to the next in the first third of a run;
- when somebody has learned something, by PB2's rule for donors, and how often the one that leads then led from the
  first interval on.
"""

import argparse
from dataclasses import dataclass

import numpy as np

import popbandits as pb
from benchmarks._choosing import FIRST, MAPPED, SIZE
from benchmarks._real_tasks import TASKS
from popbandits._types import Floats
from popbandits.population import Decision, View
from popbandits.strategies import learned

_SEEDS, _CHUNK, _AFTER = 48, 12, (1, 2, 4, 8)


@dataclass(frozen=True)
class Early:
    """What was seen in one population.

    Args:
        scores: of each agent after each interval, agents along the first axis.
        when: the interval after which somebody had learned something; None for never.
        first_led: whether whoever led then had the best first score.
    """

    scores: Floats
    when: int | None
    first_led: bool


class _Watching(pb.RandomSearch):
    """Random search that keeps what it sees at its end."""

    seen: dict[int, tuple[Floats, dict[int, bool]]] = {}  # noqa: RUF012 one for all: every population has its own seed

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        history, now = view.history, list(view.last)
        scores = np.full((view.size, view.intervals), np.nan)
        scores[history.agent, history.interval - 1] = history.score
        passed = self.seen.get(view.seed, (scores, {}))[1]
        passed[int(history.interval.max())] = bool(
            learned(view, history.score[now], np.nan_to_num(history.score_error[now])).any()
        )
        self.seen[view.seed] = (scores, passed)
        return super().decide(view, due)


def watch(task: str) -> list[Early]:
    """Train populations on a task, and return what their first intervals were like."""
    _Watching.seen.clear()
    for first in range(FIRST, FIRST + _SEEDS, _CHUNK):
        TASKS[task].train(_Watching, range(first, first + _CHUNK), SIZE, None)
    found = []
    for scores, passed in _Watching.seen.values():
        finite = np.where(np.isfinite(scores), scores, -np.inf)
        when = min((interval for interval, done in passed.items() if done), default=None)
        leader = None if when is None else int(finite[:, when - 1].argmax())
        found.append(Early(finite, when, leader is not None and leader == int(finite[:, 0].argmax())))
    return found


def correlation(a: Floats, b: Floats) -> float:
    """Return Spearman's rank correlation."""
    ranks = [np.argsort(np.argsort(values, kind="stable"), kind="stable") for values in (a, b)]
    return float(np.corrcoef(np.array(ranks, dtype=float))[0, 1])


def row(task: str, found: list[Early]) -> str:
    """Return a row of the table."""
    scores = np.concatenate([early.scores for early in found])
    best = scores.max(axis=1)
    top = best >= np.quantile(best, 0.75)
    third = scores[:, : scores.shape[1] // 3]
    fell = float((np.diff(np.where(np.isfinite(third), third, -1e300), axis=1) < 0).mean())
    times = [early.when for early in found if early.when is not None]
    ranks = ", ".join(f"{correlation(scores[:, k - 1], best):.2f}" for k in _AFTER)
    among = ", ".join(f"{correlation(scores[top, k - 1], best[top]):.2f}" for k in _AFTER)
    led = sum(early.first_led for early in found)
    when = f"{np.median(times):.0f}" if times else ""
    return (
        f"| {task} | {ranks} | {among} | {fell:.0%} | {when} ({len(times)} of {len(found)}) | {led} of {len(times)} |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=MAPPED, metavar="TASK")
    print("| task | all, after 1, 2, 4, 8 | the best quarter | scores that fall | learned after | led from the first |")
    print("|---|---|---|---|---|---|")
    for task in parser.parse_args().tasks:
        print(row(task, watch(task)), flush=True)


if __name__ == "__main__":
    main()
