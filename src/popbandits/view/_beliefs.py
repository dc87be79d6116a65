"""What the model has learned, in a few lines."""

from collections.abc import Iterator

from popbandits.strategies import Beliefs
from popbandits.view._format import number, text

_MOST = 8  # lengthscales on a line


def told(learned: Beliefs) -> Iterator[str]:
    r"""Yield lines for people: what matters, how sure it is, and what to know.

    Examples:
        >>> learned = Beliefs(0.05, {"lr": 0.2}, 2.0, 0.5, 0.83, 40, 40, 0, ())
        >>> print(*told(learned), sep="\n")
        model: hparams move the score by ±2; a score errs by ±0.5
        model: what was learned keeps 97 % of its worth to the next interval; most telling: lr (0.2)
        model: recent choices beat a random one with probability 0.83; 40 of 40 reports count
    """
    yield f"model: hparams move the score by ±{number(learned.signal)}; a score errs by ±{number(learned.noise)}"
    telling = sorted(learned.lengthscales.items(), key=lambda item: item[1])[:_MOST]
    named = ", ".join(f"{text(name)} ({length:.2g})" for name, length in telling)
    kept = 100 * (1 - learned.omega) ** 0.5
    what = f"; most telling: {named}" if named else ""
    yield f"model: what was learned keeps {kept:.0f} % of its worth to the next interval{what}"
    sure = "" if learned.edge is None else f"recent choices beat a random one with probability {learned.edge:.2f}; "
    yield f"model: {sure}{learned.block} of {learned.rows} reports count"
    for warning in learned.warnings:
        yield f"note: {warning}"
