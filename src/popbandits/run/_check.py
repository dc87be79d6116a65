"""check_trainable: runs a user's code through what a run will ask of it, and says in plain words what is wrong."""

import copy
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from popbandits._errors import PopbanditsError
from popbandits._random import generator
from popbandits._types import Hparams
from popbandits.run._blame import blame
from popbandits.run._checkpoints import beside, seal
from popbandits.run._findings import Finding
from popbandits.run._step import check_in_effect, scored
from popbandits.run._target import Target
from popbandits.space import SpaceLike, as_space


def check_trainable(
    trainable: Any, space: SpaceLike, *, metric: str = "score", config: Mapping[str, Any] | None = None
) -> tuple[Finding, ...]:
    """Return what was found when a trainable was made, trained, saved, loaded and given other hparams.

    Args:
        trainable: a class with `step`, `save` and `load`; or what `functional` returns.
        space: what each hyperparameter may be.
        metric: the name of the score among what a step returns.
        config: the settings that it is made with, beside the seed.

    Examples:
        >>> class Still:
        ...     def __init__(self, seed): pass
        ...     def step(self, hparams): return hparams["x"]
        ...     def save(self, path): pass
        ...     def load(self, path): pass
        >>> check_trainable(Still, {"x": (0.0, 1.0)})[0].text
        'Still can be sent to a worker'
    """
    drawn = as_space(space)
    first, second = (drawn.sample(generator(0, "check", i)) for i in range(2))
    findings: list[Finding] = []
    try:
        with tempfile.TemporaryDirectory(prefix="popbandits-check-") as folder:
            for finding in _findings(trainable, config or {}, first, second, metric, Path(folder)):
                findings.append(finding)  # noqa: PERF402  (what was found before a failure is kept)
    except PopbanditsError as error:
        findings.append(Finding(False, str(error)))
    except (Exception, SystemExit) as error:
        findings.append(Finding(False, blame(error)))
    return tuple(findings)


def _findings(
    trainable: Any, config: Mapping[str, Any], first: Hparams, second: Hparams, metric: str, folder: Path
) -> Iterator[Finding]:
    target = Target.of(trainable, config)
    if target.sent() is None:
        yield Finding(True, f"a worker can import {target}")
    else:
        yield Finding(True, f"{target} can be sent to a worker")
        yield Finding(True, f"to resume a run of {target}, it has to be given again: a module would keep it", tip=True)
    given, own = trainable, dict(config)
    if own:

        def trainable(seed: int) -> Any:
            return given(seed, **copy.deepcopy(own))

    def trained(hparams: Hparams, model: Any) -> float:
        score, _ = scored(model.step(hparams), metric)
        check_in_effect(model, hparams)
        return score

    one, twin = trainable(0), trainable(0)
    score = trained(first, one)
    yield Finding(True, f"it trains, and the score of an interval is {score:g}")
    if not math.isfinite(score):
        yield Finding(False, f"the first score is {score}: the agent would be replaced at once")
    yield _same(score, trained(first, twin), "the same seed and hparams give the same score", "use the seed given")

    path = beside(folder, "first")
    one.save(path)
    seal(path)
    files = sum(1 for file in path.rglob("*") if file.is_file()) - 1
    if files == 0:
        yield Finding(False, "save wrote no file into the folder it was given; a copy would start from nothing")
    go_on = trained(second, one)
    same = trainable(1)
    same.load(path)
    if trained(first, same) == go_on and first != second:
        yield Finding(False, f"{first} and {second} give the same score: does step use the hparams it is given?")
    else:
        yield Finding(True, "other hparams take effect on a model that is training")
    yield from _loaded(trainable, path, lambda model: trained(second, model), go_on)
    yield from _copied(trainable, path, lambda model: trained(second, model), go_on)


def _loaded(trainable: Any, path: Path, train: Callable[[Any], float], go_on: float) -> Iterator[Finding]:
    """Compare a model that went on with one that was saved and loaded, into a new model and into a used one."""
    fresh = trainable(1)
    fresh.load(path)
    advice = "save everything that training depends on, random state too"
    yield _same(go_on, train(fresh), "a model that was saved and loaded goes on as if it had not been", advice)
    fresh.load(path)
    advice = "let load replace everything, also what training has changed since"
    yield _same(go_on, train(fresh), "loading into a model that has trained gives the same as into a new one", advice)


def _copied(trainable: Any, path: Path, train: Callable[[Any], float], go_on: float) -> Iterator[Finding]:
    """Compare a model that went on with a copy of it, which should draw random numbers of its own."""
    copy = trainable(1)
    copy.load(path)
    reseed = getattr(copy, "reseed", None)
    if reseed is not None:
        reseed(1)
    if not _equal(train(copy), go_on):
        if reseed is not None:
            yield Finding(True, "a copy draws other random numbers than its donor")
    elif reseed is None:
        text = (
            "a copy learns exactly what its donor learns; if step draws random numbers, add a method reseed(self, seed)"
        )
        yield Finding(True, text, tip=True)
    else:
        text = (
            "a copy learns exactly what its donor learns, although reseed was called; do all random numbers follow it?"
        )
        yield Finding(True, text, tip=True)


def _equal(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def _same(a: float, b: float, text: str, advice: str) -> Finding:
    if _equal(a, b):
        return Finding(True, text)
    return Finding(False, f"it is not so that {text} ({a:g} and {b:g}); {advice}")
