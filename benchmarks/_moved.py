"""Whom a decision gave new hparams."""

from popbandits.population import Action, Stop, View


def moved(action: Action, view: View) -> bool:
    """Return whether an action changes what its agent trains: a copy, or other hparams than it last had."""
    if isinstance(action, Stop):
        return False
    return action.source != action.agent or action.hparams != view.history.hparams(view.last[action.agent])
