"""A strategy of your own: the worst agent copies the best, and takes the middle of the two agents' hyperparameters.

A strategy is a frozen dataclass with two methods. It remembers nothing: all it may look at is in the view. So a run can
be resumed and verified, and `popbandits.testing` can check that it keeps to the rules.

Run it: python examples/own_strategy.py
"""

from dataclasses import dataclass

import popbandits as pb
from popbandits.strategies import Decision, Stop, Train, View, finite_scores, keep, spent, start_at_random


@dataclass(frozen=True)
class Middle:
    """Replace the worst agent by a copy of the best, halfway between their hyperparameters."""

    def start(self, view: View) -> Decision:
        return start_at_random(view)

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        scores = finite_scores(view)
        best, worst = (max(scores, key=scores.__getitem__), min(scores, key=scores.__getitem__)) if scores else (0, 0)
        actions: list[Train | Stop] = []
        for agent in due:
            if spent(view, agent):
                actions.append(Stop(agent))
            elif agent == worst and worst != best:
                mine, theirs = (view.history.points[view.last[one]] for one in (worst, best))
                actions.append(Train(agent, view.space.decode(0.5 * (mine + theirs)), source=best))
            else:
                actions.append(keep(view, agent))
        return Decision(tuple(actions))


class Quadratic:
    """A model to try it on: gradient descent on w²."""

    def __init__(self, seed: int) -> None:
        self.w = 3.0 + 0.1 * seed % 1.0

    def step(self, hparams: dict[str, float]) -> float:
        self.w -= hparams["lr"] * 2 * self.w
        return -(self.w**2)

    def save(self, path):  # type: ignore[no-untyped-def]
        (path / "w").write_text(repr(self.w))

    def load(self, path):  # type: ignore[no-untyped-def]
        self.w = float((path / "w").read_text())


if __name__ == "__main__":
    space = {"lr": pb.Float(1e-4, 1.0, log=True)}
    run = pb.tune(Quadratic, space, strategy=Middle(), population=4, intervals=10)
    print(f"score {run.best.score:.4g} with {run.best.hparams}")

# Its last line of output:
# score -0.007239 with {'lr': 0.15211215633130007}
