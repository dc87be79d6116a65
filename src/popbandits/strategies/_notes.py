"""PB2Notes: what PB2 remembers from one decision to the next, and the JSON it is kept as in a decision's notes."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from popbandits.gp import Theta


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
        """Return what the notes of a decision hold; None when no model was fitted for it."""
        if "theta" not in notes:
            return None
        known = {part.name: notes[part.name] for part in fields(PB2Notes) if part.name in notes}
        theta = {part.name: notes["theta"][part.name] for part in fields(Theta) if part.name in notes["theta"]}
        known["theta"] = Theta(**theta | {"lengthscales": tuple(theta["lengthscales"])})
        return PB2Notes(**{"t": 0} | known)
