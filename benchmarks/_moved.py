"""Whom a decision gave new hparams."""

from popbandits.population import Action, View


def moved(action: Action, view: View) -> bool:
    """Return whether an action changes what its agent trains: a copy, or other hparams than it last had."""
    if action.hparams is None:
        return False
    return action.source != action.agent or action.hparams != view.history.hparams(view.last[action.agent])
