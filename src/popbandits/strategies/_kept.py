"""Strategies by name, and the name and options that a run keeps of its strategy.

Ours have short names. Anybody else's is named by where it is imported from, `module:Class` or `file.py:Class`, and kept
as that and its options: the fields of its dataclass, as JSON.
"""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from popbandits._code import attribute, in_memory, locate, parse
from popbandits._errors import OptionError
from popbandits.population import Decision, History, Strategy, View
from popbandits.space import Space
from popbandits.strategies._asha import ASHA
from popbandits.strategies._bayes import BayesOpt
from popbandits.strategies._beliefs import Beliefs, Expected
from popbandits.strategies._explained import Explanation
from popbandits.strategies._fixed import FixedSchedule
from popbandits.strategies._paper import PaperPB2
from popbandits.strategies._pb2 import PB2
from popbandits.strategies._pbt import PBT
from popbandits.strategies._random_search import RandomSearch

_BY_NAME: dict[str, Any] = {
    "pb2": PB2,
    "pb2-paper": PaperPB2,
    "pbt": PBT,
    "uniform": lambda **options: PBT(**{"resample_probability": 1.0} | options),
    "random": RandomSearch,
    "asha": ASHA,
    "bayes": BayesOpt,
    "fixed": FixedSchedule,
}
_NAMES = {
    PB2: "pb2",
    PaperPB2: "pb2-paper",
    PBT: "pbt",
    RandomSearch: "random",
    ASHA: "asha",
    BayesOpt: "bayes",
    FixedSchedule: "fixed",
}
_PARTS = {"lineage_noise", "fading_gains", "common_effect", "trust_region"}
"""Options by which a description of an earlier PB2 is known. Without any of those parts it is the paper's."""


@dataclass(frozen=True)
class Former:
    """A strategy that this version no longer has, as a run keeps it: the run can be looked at, but not gone on with.

    Args:
        name, options: as they were kept.
    """

    name: str
    options: Mapping[str, Any]

    def load(self) -> Strategy:
        """Say that it cannot be made any more."""
        raise OptionError(
            f"this run was begun with an earlier {self.name} (options {dict(self.options)}), which this version no "
            "longer has; it can be looked at and reported, but not resumed or verified; start a new run "
            "from its weights, with checkpoint=run.best.checkpoint and initial=[run.best.hparams]"
        )

    def start(self, view: View) -> Decision:
        return self.load().start(view)

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        return self.load().decide(view, due)


@dataclass(frozen=True)
class Elsewhere:
    """A strategy that is not ours, as a run keeps it. The code is imported when it has to decide, and not before.

    Args:
        name: where it is imported from: module:Class, or the path of a file and the class.
        options: what it is made with.
    """

    name: str
    options: Mapping[str, Any]

    def __str__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self.options.items())
        return f"{self.name.rpartition(':')[2]}({given})"

    def load(self) -> Strategy:
        """Import the strategy and make it.

        Raises:
            OptionError: when it cannot be imported, is no strategy, or refuses its options.
        """
        found = parse(self.name)
        made: Any = attribute(*found, OptionError) if found is not None else None
        if not callable(getattr(made, "decide", None)):
            raise OptionError(f"{self.name} is not a strategy: there is no class of that name with a method `decide`")
        try:
            strategy: Strategy = made(**self.options)
        except TypeError as error:
            raise OptionError(f"{self.name} cannot be made with the options {dict(self.options)}: {error}") from None
        return strategy

    def start(self, view: View) -> Decision:
        return self.load().start(view)

    def decide(self, view: View, due: tuple[int, ...]) -> Decision:
        return self.load().decide(view, due)

    def explain(self, view: View) -> Explanation | None:
        """Return what the strategy says, if it is in memory; looking at a run imports nobody's code."""
        said: Explanation | None = self._ask("explain", view)
        return said

    def beliefs(self, notes: Mapping[str, Any], space: Space, size: int) -> Beliefs | None:
        """Return what the strategy says, if it is in memory."""
        said: Beliefs | None = self._ask("beliefs", notes, space, size)
        return said

    def expected(self, history: History, notes: Mapping[str, Any], size: int) -> Expected | None:
        """Return what the strategy says, if it is in memory."""
        said: Expected | None = self._ask("expected", history, notes, size)
        return said

    def _ask(self, method: str, *given: Any) -> Any:
        found = parse(self.name)
        if found is None or not in_memory(found[0]):
            return None
        tell = getattr(self.load(), method, None)
        return None if tell is None else tell(*given)


def make_strategy(name: str, **options: Any) -> Strategy:
    """Return the strategy of that name.

    Args:
        name: pb2, pb2-paper, pbt, uniform (copy weights, draw hparams at random), random, asha or bayes; or where a
            strategy of one's own is imported from, as module:Class or file.py:Class.
        options: the strategy's own.

    Raises:
        OptionError: for an unknown name or option.

    Examples:
        >>> make_strategy("pbt", quantile=0.2).quantile
        0.2
    """
    if name in _BY_NAME:
        strategy: Strategy = _BY_NAME[name](**options)
        return strategy
    if parse(name) is None:
        close = difflib.get_close_matches(name, _BY_NAME, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise OptionError(f"a strategy is one of {', '.join(_BY_NAME)} or module:Class, but got {name!r}{hint}")
    return Elsewhere(name, options).load()


def describe_strategy(strategy: Strategy) -> dict[str, Any]:
    """Return the name and all options of a strategy, as plain JSON for `restore_strategy`.

    Raises:
        OptionError: for a strategy that could not be made again from them.
    """
    if isinstance(strategy, Elsewhere | Former):
        return {"name": strategy.name, "options": dict(strategy.options)}
    cls: Any = type(strategy)
    name = _NAMES.get(cls) or ":".join(locate(cls, OptionError, "a resume"))
    if not is_dataclass(strategy) or not cls.__dataclass_params__.frozen:
        what = "is a dataclass that can change" if is_dataclass(strategy) else "is no dataclass"
        raise OptionError(
            f"a run keeps the options of its strategy, but {cls.__name__} {what}; decorate it with "
            "@dataclass(frozen=True)"
        )
    options = {part.name: getattr(strategy, part.name) for part in fields(strategy) if part.init}
    try:
        plain: dict[str, Any] = json.loads(json.dumps(options, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"a run keeps the options of its strategy as JSON, but those of {name} are not: {error}"
        ) from None
    try:
        again: Any = cls(**plain)
    except TypeError as error:
        raise OptionError(f"the strategy {name} cannot be made from its options: {error}") from None
    if again != strategy:
        unlike = next(key for key in plain if getattr(again, key) != getattr(strategy, key))
        raise OptionError(
            f"a run keeps the options of its strategy as JSON, but {unlike}={options[unlike]!r} of {name} comes back "
            f"as {getattr(again, unlike)!r}; turn it into what it was in __post_init__"
        )
    return {"name": name, "options": plain}


def restore_strategy(described: Mapping[str, Any]) -> Strategy:
    """Return the strategy that `describe_strategy` described, today or before it had all of today's options.

    One that is not ours is returned as `Elsewhere`: a run can be looked at without importing anybody's code.

    Raises:
        OptionError: for a name or an option that is unknown.
    """
    name, options = str(described["name"]), dict(described["options"])
    if name not in _BY_NAME and parse(name) is not None:
        return Elsewhere(name, options)
    if name == "pb2" and _PARTS & set(options):
        parts = {part: options.pop(part) for part in _PARTS & set(options)}
        if any(parts.values()) or options.get("explore") == "middle":
            return Former(name, options | parts)
        return PaperPB2(**options)
    return make_strategy(name, **options)
