"""PB2 with one of its parts left out or changed: the comparisons that decided what `PB2()` is made of.

    python -m benchmarks.real choose [TASK …]        train what is missing, and print what each part is worth

They are trained with seeds of their own, which no table of results uses.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import popbandits as pb
from benchmarks.fresh_starts import FreshStarts
from benchmarks.while_steady import WhileSteady
from popbandits._types import Floats
from popbandits.population import Decision, Strategy, Train, View
from popbandits.strategies import Move, Rules, generator, next_interval, start_at_random


@dataclass(frozen=True)
class RandomStart(pb.PB2):
    """The first hparams are drawn at random instead of spread evenly."""

    def start(self, view: View) -> Decision:
        return start_at_random(view)


class MiddleStart(pb.PB2):
    """The first hparams leave a tenth of every range free at both ends, where they are seldom good."""

    def start(self, view: View) -> Decision:
        space, moved = view.space, []
        for action in super().start(view).trained:
            point = space.snap(0.1 + 0.8 * space.encode(action.hparams)[None])[0]
            moved.append(Train(action.agent, space.decode(point)))
        return Decision(tuple(moved))


class AnyDonor(pb.PB2):
    """Whoever leads is copied, also when it has learned nothing."""

    rules = Rules(learned=False)


class NoHeirs(pb.PB2):
    """Weights are judged by the scores of their agents alone."""

    rules = Rules(heirs=0)


class AlwaysHeirs(pb.PB2):
    """Every copy tests weights, where there are any to test."""

    rules = Rules(heirs=1)


class FewHeirs(pb.PB2):
    """Every third copy tests weights, instead of every second."""

    rules = Rules(heirs=3)


class NoEnd(pb.PB2):
    """The last fifth of a run is like the rest of it."""

    rules = Rules(end=False)


class ByGains(pb.PB2):
    """The model learns gains, as the paper's does, instead of scores."""

    rules = Rules(scores=False)


class Redrawn(pb.PB2):
    """A quarter of all hparams is drawn anew, and the others move half as far as usual."""

    def candidates(self, view: View, move: Move, count: int) -> Floats:
        """Return points of which some coordinates lie anywhere, and the others near those of the source."""
        if move.anew or move.source is None:
            return super().candidates(view, move, count)
        near = pb.PB2(spread=0.5 * self.spread).candidates(view, move, count)
        rng = generator(view.seed, "redrawn", next_interval(view, move.agent), move.agent)
        drawn = rng.random(near.shape)
        return view.space.snap(np.where(rng.random(near.shape) < 0.25, drawn, near))


VARIANTS: dict[str, Callable[[], Strategy]] = {
    "uniform": lambda: pb.PBT(resample_probability=1.0),
    "paper": pb.PB2.paper,
    "pb2": pb.PB2,
    "random start": RandomStart,
    "middle start": MiddleStart,
    "any donor": AnyDonor,
    "no heirs": NoHeirs,
    "always heirs": AlwaysHeirs,
    "few heirs": FewHeirs,
    "no end": NoEnd,
    "by gains": ByGains,
    "no model": lambda: pb.PB2(window=0),
    "patience 1": lambda: pb.PB2(patience=1),
    "patience 3": lambda: pb.PB2(patience=3),
    "spread 0.1": lambda: pb.PB2(spread=0.1),
    "spread 0.3": lambda: pb.PB2(spread=0.3),
    "redrawn": Redrawn,
    "half move": lambda: pb.PB2(quantile=0.5),
    "while steady": WhileSteady,
    "fresh starts": FreshStarts,
    "fresh starts at once": lambda: FreshStarts(part=1 / 3, at_once=True),
}
"""What was compared, by name."""
