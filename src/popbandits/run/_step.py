"""What a step returned and did, checked: the score, the metrics, and the hparams in effect."""

import math
from collections.abc import Mapping
from typing import Any

from popbandits._errors import TrainableError
from popbandits._types import Hparams
from popbandits.population import checked_error


def scored(result: Any, metric: str) -> tuple[float, dict[str, float]]:
    """Return the score and all metrics of what a step returned.

    Raises:
        TrainableError: when the metric is missing or not a number.
        ScoreError: when `score_error` is negative, nan or infinite.
    """
    metrics = result if isinstance(result, Mapping) else {metric: result}
    if metric not in metrics:
        others = ", ".join(map(repr, metrics))
        raise TrainableError(
            f"step returned no {metric!r}, but {others or 'an empty dict'}; "
            f"return {metric!r} too, or choose another metric when a run begins"
        )
    numbers: dict[str, float] = {}
    for key, value in metrics.items():
        if key == "score_error" and value is None:
            continue  # not known
        try:
            if isinstance(value, (str, bytes, bool)) or getattr(value, "shape", ()) != ():
                raise TypeError
            numbers[str(key)] = float(value)
        except (TypeError, ValueError):
            raise TrainableError(f"the metric {key!r} must be a number, but step returned {value!r}") from None
    checked_error(metrics.get("score_error"), numbers[metric], "an interval")
    return numbers[metric], numbers


def check_in_effect(trainable: Any, hparams: Hparams) -> None:
    """Refuse a trainable that says it trained with other hparams than it was given."""
    tell = getattr(trainable, "hparams_in_effect", None)
    if tell is None:
        return
    actual = tell()
    for name, value in hparams.items():
        if name in actual and not equal(actual[name], value):
            raise TrainableError(
                f"hyperparameter {name!r} was set to {value!r}, but {actual[name]!r} is in effect; "
                "does load() or step() overwrite it?"
            )


def equal(a: Any, b: Any) -> bool:
    """Return whether two values of a hyperparameter are the same, but for the rounding of a float."""
    try:
        return math.isclose(float(a), float(b), rel_tol=1e-6)
    except (TypeError, ValueError):
        return bool(a == b)
