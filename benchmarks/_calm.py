"""PB2 that nothing surprises: what was learned is forgotten by and by, never at once. For the study."""

from dataclasses import dataclass

from popbandits.gp import Kernel, Theta
from popbandits.strategies import PB2
from popbandits.strategies._evidence import Evidence


@dataclass(frozen=True)
class CalmPB2(PB2):
    """PB2 without the question whether what was known still holds."""

    def _is_surprised(self, kernel: Kernel, before: Theta | None, evidence: Evidence) -> bool:
        return False
