"""A finding: one thing that was looked at, and whether it is as it should be."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """What a check has found.

    Args:
        ok: whether it is as it should be.
        text: in one sentence, what is; where it is not as it should be, also what to do.
        tip: whether it is as it should be, but could be better.
    """

    ok: bool
    text: str
    tip: bool = False
