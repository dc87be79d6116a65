"""Whether a trial of Ray Tune trains with the hparams that were chosen for it."""

import logging
from collections.abc import Mapping
from typing import Any

from popbandits.integrations._bounds import searched
from popbandits.run import equal
from popbandits.space import Space

_log = logging.getLogger(__name__)


class InEffect:
    """Warns of a trainable that trains with other hparams than were chosen for it, once for each trial and name.

    It may have rounded them, or restored those of its checkpoint: then nothing is learned of what was chosen.
    """

    def __init__(self) -> None:
        self._warned: set[tuple[str, str]] = set()

    def check(self, trial: Any, space: Space, result: Mapping[str, Any]) -> None:
        """Compare a trial's config with what a result says of it."""
        for name, value in space.flat(searched(trial.config, space)).items():
            path = "/".join(space.path(name))  # Ray hands results over flat
            actual = result.get(f"hparams_in_effect/{path}", result.get(f"config/{path}"))
            if actual is None or equal(actual, value) or (trial.trial_id, name) in self._warned:
                continue
            self._warned.add((trial.trial_id, name))
            _log.warning(
                "hyperparameter %r of trial %s was set to %r, but %r is in effect; "
                "does restoring its checkpoint overwrite it?",
                *(name, trial.trial_id, value, actual),
            )
