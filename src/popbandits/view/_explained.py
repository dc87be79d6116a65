"""Where agents stand and what hparams have done, in words."""

from collections.abc import Iterator

from popbandits.strategies import Effect, Explanation, Place
from popbandits.view._format import text

_SURE = 2.0  # standard errors beyond which an effect is told


def standing(place: Place) -> str:
    """Return where an agent stands, in a few words.

    Examples:
        >>> standing(Place(1, 1, 3.5, True, False, 0, "has time: 1 of 2 intervals since its change"))
        'copied agent 0; has time: 1 of 2 intervals since its change'
    """
    parts = [
        "" if place.donor is None else f"copied agent {place.donor}",
        f"its score has not moved for {place.held} intervals" if place.still else "",
        place.fate,
    ]
    return "; ".join(part for part in parts if part)


def standings(explanation: Explanation | None) -> dict[int, str]:
    """Return where each agent stands, by its id; nothing for a strategy that does not tell."""
    return {} if explanation is None else {place.agent: standing(place) for place in explanation.places}


def told_effects(explanation: Explanation) -> Iterator[str]:
    r"""Yield lines for people: how sure the ranking is, and what each hyperparameter has done.

    Examples:
        >>> explanation = Explanation((), 0.93, (Effect("lr", (-2.0, 0.5), (0.4, 0.1)), Effect("clip", None, None)))
        >>> print(*told_effects(explanation), sep="\n")
        ranking: the best agent is better than the next with probability 0.93
        effects of a tenth of the range more: lr -2 ±0.5 at once, +0.4 ±0.1 an interval while it stays
        effects that cannot be told from noise yet: clip
    """
    if explanation.sure is not None:
        yield f"ranking: the best agent is better than the next with probability {explanation.sure:.2f}"
    clear = {effect.name: _effect(effect) for effect in explanation.effects}
    for name, words in clear.items():
        if words:
            yield f"effects of a tenth of the range more: {text(name)} {words}"
    unclear = [text(name) for name, words in clear.items() if not words]
    if unclear:
        yield f"effects that cannot be told from noise yet: {', '.join(unclear)}"


def _effect(effect: Effect) -> str:
    known = {"at once": effect.at_once, "an interval while it stays": effect.stays}
    return ", ".join(
        f"{value[0]:+.2g} ±{value[1]:.2g} {when}"
        for when, value in known.items()
        if value is not None and abs(value[0]) > _SURE * value[1]
    )
