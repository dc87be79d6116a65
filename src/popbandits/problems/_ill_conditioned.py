"""Real SGD on an ill-conditioned noisy quadratic: what helps at once is not what helps in the end.

The loss is ½ Σ hᵢ θᵢ² with curvatures hᵢ log-spaced from 1e-3 to 1. A step with momentum m moves θ by −a v, where
v ← m v + g, the gradient gᵢ = hᵢ θᵢ + εᵢ has noise of variance hᵢ / batch, and a = lr √(1−m). A small step lowers the
noise at once and is what the score rewards; a large one is what moves the flat directions, which are most of the final
loss. The score is −log₁₀ of the loss. No optimum is known. The reference is a straight line in log lr, log batch and
momentum, found by `python -m benchmarks.references`, which also found the best constant.

    n weights    k = 3 second moments of each: E[θ²], E[θv], E[v²]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from popbandits._errors import OptionError
from popbandits._types import Floats, Hparams
from popbandits.problems._problem import Weights, along
from popbandits.space import Float, Int, Space

_SAMPLES = 1920  # of an interval
_LEAST = 8  # a smaller batch costs as much as this one
_SPREAD = 3.0  # of the first weights


@dataclass(frozen=True)
class IllConditioned:
    """Learn the schedules of a learning rate, a batch size and a momentum.

    Args:
        dim: n, the number of weights.
        flattest: the smallest curvature; the largest is 1.
        noise: multiplies the variance of the gradient's noise.
    """

    dim: int = 64
    flattest: float = 1e-3
    noise: float = 1.0

    @cached_property
    def space(self) -> Space:
        return Space({"lr": Float(1e-4, 1.0, log=True), "batch": Int(1, 256, log=True), "momentum": Float(0.0, 0.99)})

    @cached_property
    def _curvature(self) -> Floats:
        return np.logspace(np.log10(self.flattest), 0, self.dim)

    def fresh(self, rng: Generator) -> Weights:
        return np.concatenate([_SPREAD * rng.standard_normal(self.dim), np.zeros(self.dim)])

    def train(self, weights: Weights, hparams: Hparams, interval: int, rng: Generator) -> Weights:
        theta, velocity = np.split(weights, 2)
        rate, momentum, batch, steps = _plan(hparams)
        noise = np.sqrt(self.noise * self._curvature / batch)
        for error in rng.standard_normal((steps, self.dim)):
            velocity = momentum * velocity + self._curvature * theta + noise * error
            theta = theta - rate * velocity
        return np.concatenate([theta, velocity])

    def score(self, weights: Weights) -> float:
        theta = weights[: self.dim]
        return float(-np.log10(0.5 * (self._curvature * theta**2).sum()))

    def optimum(self, intervals: int) -> float:
        return -float(np.log10(self.expected_loss(self.references(intervals)["good schedule"])))

    def references(self, intervals: int) -> Mapping[str, Sequence[Hparams]]:
        if self not in REFERENCES:
            raise OptionError(f"no reference was searched for {self}; add it to benchmarks/references.py")
        constant, *line = (self.space.encode(hparams) for hparams in REFERENCES[self])
        return {
            "best constant": [self.space.decode(constant)] * intervals,
            "good schedule": [self.space.decode(point) for point in along(line[0], line[1], intervals)],
        }

    def expected_loss(self, schedule: Sequence[Hparams]) -> float:
        """Return the exact expectation of the final loss under a schedule: second moments follow a linear map."""
        h = self._curvature
        moments = np.stack([np.full(self.dim, _SPREAD**2), np.zeros(self.dim), np.zeros(self.dim)])
        for hparams in schedule:
            a, m, batch, steps = _plan(hparams)
            variance = self.noise * h / batch
            for _ in range(steps):
                square, cross, speed = moments
                speed = m**2 * speed + 2 * m * h * cross + h**2 * square + variance
                mixed = m * cross + h * square  # E[θ v'], before θ moves
                moments = np.stack([square - 2 * a * mixed + a**2 * speed, mixed - a * speed, speed])
        return float(0.5 * (h * moments[0]).sum())


def _plan(hparams: Hparams) -> tuple[float, float, float, int]:
    """Return the step size, the momentum, the batch and the number of steps of an interval."""
    momentum, batch = float(hparams["momentum"]), float(hparams["batch"])
    return float(hparams["lr"]) * (1 - momentum) ** 0.5, momentum, batch, round(_SAMPLES / max(batch, _LEAST))


REFERENCES: dict[IllConditioned, tuple[Hparams, Hparams, Hparams]] = {
    IllConditioned(): (
        {"lr": 0.783, "batch": 256, "momentum": 0.936},
        {"lr": 1.0, "batch": 9, "momentum": 0.969},
        {"lr": 0.0394, "batch": 256, "momentum": 0.0},
    ),
    IllConditioned(48, 1e-4): (
        {"lr": 0.0427, "batch": 8, "momentum": 0.867},
        {"lr": 0.926, "batch": 8, "momentum": 0.99},
        {"lr": 0.00176, "batch": 30, "momentum": 0.948},
    ),
    IllConditioned(96, 3e-3, 4.0): (
        {"lr": 0.406, "batch": 256, "momentum": 0.930},
        {"lr": 0.274, "batch": 11, "momentum": 0.99},
        {"lr": 0.0255, "batch": 256, "momentum": 0.333},
    ),
}
"""The best constant, and both ends of the line, as `python -m benchmarks.references` found them for 20 intervals."""
