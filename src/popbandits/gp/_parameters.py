"""The kernel's parameters as one table. Vectors, priors, starts and the order of gradients all follow from it.

The parameters are learned as one vector z without units: those of the table that a kernel has, in its order, each as
its transform makes it.

    z = (log s², log ℓ_1 … log ℓ_d, log(−log(1−ω)), log σ², logit λ)

What is observed comes in standardised, so the priors need no scale of their own.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from popbandits._types import Floats
from popbandits.gp._kernel import Kernel, Theta

_LARGEST = 1.0 - 2.0**-53  # of ω: nothing is remembered, and every number is still finite


class Transform(NamedTuple):
    """From a parameter to its component of z, and back."""

    forward: Callable[[float], float]
    back: Callable[[float], float]


_LOG = Transform(math.log, math.exp)
_LOGIT = Transform(lambda p: math.log(p) - math.log1p(-p), lambda z: 1.0 / (1.0 + math.exp(-z)))
_FORGETTING = Transform(lambda omega: math.log(-math.log1p(-omega)), lambda z: min(_LARGEST, -math.expm1(-math.exp(z))))


class Parameter(NamedTuple):
    """One parameter of `Theta`.

    Args:
        name: of the field.
        transform: to z.
        count: how many components of z it has in a kernel: 0 where it is not learned.
    """

    name: str
    transform: Transform
    count: Callable[[Kernel], int]


TABLE = (
    Parameter("signal", _LOG, lambda _: 1),
    Parameter("lengthscales", _LOG, lambda kernel: kernel.n_numeric),
    Parameter("omega", _FORGETTING, lambda kernel: kernel.omega is None),
    Parameter("noise", _LOG, lambda _: 1),
    Parameter("mix", _LOGIT, lambda kernel: kernel.mixed),
)


@dataclass(frozen=True)
class Priors:
    """Independent normal priors on z, as (mean, deviation): weak, but enough for n = 2.

    The lengthscales' mean grows with √d, as distances in the cube do. ω's mean is exp(-3) = 0.05.
    """

    signal: tuple[float, float] = (0.0, 1.0)
    lengthscales: tuple[float, float] = (math.log(0.5), 0.75)
    omega: tuple[float, float] = (-3.0, 1.5)
    noise: tuple[float, float] = (math.log(0.3), 1.5)
    mix: tuple[float, float] = (0.0, 1.0)

    def vectors(self, kernel: Kernel) -> tuple[Floats, Floats]:
        """Return the means and deviations in the order of z."""
        parts = [getattr(self, parameter.name) for parameter in TABLE for _ in range(parameter.count(kernel))]
        means, deviations = np.array(parts).T
        means[where(kernel, "lengthscales")] += 0.5 * math.log(max(1, kernel.n_numeric))
        return means, deviations


def where(kernel: Kernel, name: str) -> slice:
    """Return where a parameter is in z; an empty slice when it is not learned."""
    begin = 0
    for parameter in TABLE:
        count = int(parameter.count(kernel))
        if parameter.name == name:
            return slice(begin, begin + count)
        begin += count
    raise KeyError(name)


def pack(kernel: Kernel, theta: Theta) -> Floats:
    """Return theta as the vector z."""
    z: list[float] = []
    for name, transform, count in TABLE:
        if count(kernel):
            value = getattr(theta, name)
            z += map(transform.forward, value if isinstance(value, tuple) else (value,))
    return np.array(z)


def unpack(kernel: Kernel, z: Floats) -> Theta:
    """Return theta from the vector z."""
    values = iter(np.asarray(z).tolist())
    found = {part.name: tuple(part.transform.back(next(values)) for _ in range(part.count(kernel))) for part in TABLE}
    single = {name: value[0] for name, value in found.items() if value and name != "lengthscales"}
    fixed = {} if kernel.omega is None else {"omega": min(_LARGEST, kernel.omega)}
    return Theta(**single | fixed, lengthscales=found["lengthscales"])


def in_order(kernel: Kernel, gradient: Mapping[str, float | list[float]]) -> Floats:
    """Return a gradient, given by parameter, in the order of z."""
    parts = [gradient[parameter.name] for parameter in TABLE if parameter.count(kernel)]
    return np.hstack(parts)
