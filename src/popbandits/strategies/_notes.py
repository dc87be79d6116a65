"""PB2Notes: what PB2 remembers from one decision to the next, and the JSON it is kept as in a decision's notes."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from popbandits._errors import RunError
from popbandits.gp import Theta

_MOST = 10_000  # hyperparameters
_LARGEST = 1e15


@dataclass(frozen=True)
class PB2Notes:
    """What PB2 learned at one decision.

    Args:
        theta: the kernel's parameters; the next fit starts from them.
        unit: one unit of what the model learns, in scores; 0 while no report differs from another.
        rows, block: reports that the model was fitted to, and the newest of them that it then believed.
        t: the interval that was decided for, in the age of the weights.
        gains: whether the model learns gains, which have the errors of two scores, or scores.
        fallbacks: how often a point had to be drawn because the model could not be used, so far.
        edge: the probability that a recent choice is better than a random one; None before the first choice.
    """

    theta: Theta
    unit: float
    rows: int
    block: int
    t: int
    gains: bool = True
    fallbacks: int = 0
    edge: float | None = None

    def with_edge(self, edge: float) -> "PB2Notes":
        """Return the notes after another choice; one choice alone says little, so half of what was known stays."""
        return replace(self, edge=0.5 * (edge + (edge if self.edge is None else self.edge)))

    def to_json(self) -> dict[str, Any]:
        """Return the notes as plain JSON; what is not known is left out."""
        body = asdict(self) | {"theta": asdict(self.theta) | {"lengthscales": list(self.theta.lengthscales)}}
        return {name: value for name, value in body.items() if value is not None}

    @staticmethod
    def from_json(notes: Mapping[str, Any]) -> "PB2Notes | None":
        """Return what the notes of a decision hold; None when no model was fitted for it.

        Raises:
            RunError: when they are not what PB2 writes: a log may come from anywhere.
        """
        if "theta" not in notes:
            return None
        try:
            _check(notes)
            known = {part.name: notes[part.name] for part in fields(PB2Notes) if part.name in notes}
            theta = {part.name: notes["theta"][part.name] for part in fields(Theta) if part.name in notes["theta"]}
            known["theta"] = Theta(**theta | {"lengthscales": tuple(theta["lengthscales"])})
            return PB2Notes(**{"t": 0} | known)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RunError(f"what PB2 noted at a decision is damaged: {error!r:.200}") from error


def _check(notes: Mapping[str, Any]) -> None:
    """Refuse notes in which a value is of another type, or one that no fit can have."""
    theta = dict(notes["theta"])
    scales = theta.pop("lengthscales")
    if type(scales) is not list or len(scales) > _MOST:
        raise TypeError("lengthscales")
    bounds = {"mix": 1.0, "omega": 1.0, "edge": 1.0}
    for name, value in [*theta.items(), *(("lengthscales", scale) for scale in scales)]:
        if type(value) not in (int, float) or not 0.0 <= value <= bounds.get(name, _LARGEST):
            raise ValueError(name)
    if any(scale == 0.0 for scale in scales):
        raise ValueError("lengthscales")
    for name in ("rows", "block", "t", "fallbacks"):
        if type(notes.get(name, 0)) is not int or not 0 <= notes.get(name, 0) <= _LARGEST:
            raise ValueError(name)
    for name in ("unit", "edge"):
        value = notes.get(name, 0.0)
        if type(value) not in (int, float) or not 0.0 <= value <= bounds.get(name, math.inf) or value == math.inf:
            raise ValueError(name)
    if type(notes.get("gains", True)) is not bool:
        raise TypeError("gains")
