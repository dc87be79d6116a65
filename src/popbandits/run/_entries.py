"""What a log holds: the entries, and the rows they are kept as.

`ReportEntry`     an agent has ended an interval, or was given up (then its score is nan)
`DecisionEntry`   a strategy has decided, and each agent that trains is told which checkpoint to load
`FailureEntry`    an attempt at an interval has failed
`ExtensionEntry`  the run has been made longer
`NoteEntry`       something that people should know

Scores are the user's own metric, as `step` returned it: where mode is "min", lower is better. Entries are named tuples,
because a long log has many of them.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from popbandits._errors import OptionError, RunError
from popbandits.population import Decision, Stop


class Seconds(NamedTuple):
    """How long the parts of an interval took."""

    load: float = 0.0
    train: float = 0.0
    save: float = 0.0


_AT_ONCE = Seconds()
_NUMBER = (int, float)
_LATEST = 1e11  # seconds: some thousand years
MOST_INTERVALS = 10**9
_CHECKPOINT = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}(/agent-\d{4,12})?")


class Details:
    """What a report says beside its score. Those of a log are parsed when they are first asked for, which few are.

    Args:
        metrics: every number that `step` returned.
        attempt: the how-manieth try of the interval it was, from 1.
        seconds: how long it took.
    """

    __slots__ = ("_known", "_text")

    def __init__(
        self, metrics: Mapping[str, float] | None = None, attempt: int = 1, seconds: Seconds = _AT_ONCE
    ) -> None:
        self._known: tuple[Mapping[str, float], int, Seconds] | None = (metrics or {}, attempt, seconds)
        self._text = ""

    @staticmethod
    def of_text(text: str) -> "Details":
        """Return the details that `text` wrote."""
        details = Details.__new__(Details)
        details._known, details._text = None, text
        return details

    def _parsed(self) -> tuple[Mapping[str, float], int, Seconds]:
        if self._known is None:
            try:
                body = json.loads(self._text)
                metrics, attempt, seconds = body["metrics"], body["attempt"], Seconds(*body["seconds"])
                numbers = all(type(value) in _NUMBER for value in (*metrics.values(), *seconds))
                if not numbers or type(attempt) is not int or not all(map(math.isfinite, seconds)):
                    raise ValueError("what should be a number is none")
                self._known = (metrics, attempt, seconds)
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
                raise RunError(f"the log is damaged: a report's details cannot be read: {error!r:.200}") from error
        return self._known

    @property
    def metrics(self) -> Mapping[str, float]:
        """Every number that `step` returned."""
        return self._parsed()[0]

    @property
    def attempt(self) -> int:
        """The how-manieth try of the interval it was, from 1."""
        return self._parsed()[1]

    @property
    def seconds(self) -> Seconds:
        """How long it took."""
        return self._parsed()[2]

    @property
    def text(self) -> str:
        """The details as JSON."""
        return json.dumps({"attempt": self.attempt, "metrics": dict(self.metrics), "seconds": self.seconds})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Details) and self._parsed() == other._parsed()

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Details{self._parsed()}"


class ReportEntry(NamedTuple):
    """An agent has ended an interval.

    Args:
        agent, interval: which.
        score: the metric that is learned by; nan for an agent that was given up after its last attempt.
        score_error: the standard error of the score; None where the trainable gave none.
        checkpoint: the name of the weights it ended with; None where there are none.
        details: the rest, of which `metrics`, `attempt` and `seconds` are properties.
        seq, time: its number in the log and when it was written; given by the log.
    """

    agent: int
    interval: int
    score: float
    score_error: float | None = None
    checkpoint: str | None = None
    details: Details = Details()
    seq: int = 0
    time: float = 0.0

    @property
    def metrics(self) -> Mapping[str, float]:
        """Every number that `step` returned."""
        return self.details.metrics

    @property
    def attempt(self) -> int:
        """The how-manieth try of the interval it was, from 1."""
        return self.details.attempt

    @property
    def seconds(self) -> Seconds:
        """How long it took."""
        return self.details.seconds


class DecisionEntry(NamedTuple):
    """A strategy has decided.

    Args:
        decision: what.
        loads: for each agent that trains, the checkpoint it begins with; None for fresh weights.
        seq, time: its number in the log and when it was written; given by the log.
    """

    decision: Decision
    loads: Mapping[int, str | None]
    seq: int = 0
    time: float = 0.0


class FailureEntry(NamedTuple):
    """An attempt at an interval has failed.

    Args:
        agent, interval, attempt: which.
        kind: what went wrong, see `Failed`.
        message: one sentence.
        traceback: of the user's code, empty where there is none.
        damaged: the checkpoint that could not be loaded, when that is why; it is loaded no more.
        load: the checkpoint to load in its stead; None for fresh weights.
        seq, time: its number in the log and when it was written; given by the log.
    """

    agent: int
    interval: int
    attempt: int
    kind: str
    message: str
    traceback: str = ""
    damaged: str | None = None
    load: str | None = None
    seq: int = 0
    time: float = 0.0


class ExtensionEntry(NamedTuple):
    """The run has been made longer.

    Args:
        intervals: how many each agent may train from here on, in all.
        seq, time: its number in the log and when it was written; given by the log.
    """

    intervals: int
    seq: int = 0
    time: float = 0.0


class NoteEntry(NamedTuple):
    """Something that people should know.

    Args:
        message: one sentence.
        seq, time: its number in the log and when it was written; given by the log.
    """

    message: str
    seq: int = 0
    time: float = 0.0


Entry: TypeAlias = ReportEntry | DecisionEntry | FailureEntry | ExtensionEntry | NoteEntry


class Row(NamedTuple):
    """The columns of the log's table that an entry fills; `body` is JSON."""

    kind: str
    agent: int | None
    interval: int | None
    score: float | None
    checkpoint: str | None
    body: str


def to_row(entry: Entry) -> Row:
    """Return what the log keeps of an entry."""
    if isinstance(entry, ReportEntry):
        # SQLite has no nan: a report without a score is one whose score was nan. Nor does it have a negative zero.
        score = None if math.isnan(entry.score) else entry.score + 0.0
        return Row("report", entry.agent, entry.interval, score, entry.checkpoint, entry.details.text)
    if isinstance(entry, DecisionEntry):
        return Row("decision", None, None, None, None, json.dumps(_decision_to_json(entry)))
    if isinstance(entry, FailureEntry):
        names = ("attempt", "kind", "message", "traceback")
        body = {name: getattr(entry, name) for name in names}
        if entry.damaged is not None:
            body |= {"damaged": entry.damaged, "load": entry.load}
        return Row("failure", entry.agent, entry.interval, None, None, json.dumps(body))
    if isinstance(entry, ExtensionEntry):
        return Row("extension", None, None, None, None, json.dumps({"intervals": entry.intervals}))
    return Row("note", None, None, None, None, json.dumps({"message": entry.message}))


def from_row(row: tuple[Any, ...]) -> Entry:
    """Return the entry that a row of the table holds: seq, and the columns of `Row` with the time before the body.

    Raises:
        ValueError: when it is of no kind that is known, or its body lacks something.
    """
    seq, kind, agent, interval, score, checkpoint, when, text = row
    if type(when) is not float or not 0.0 <= when < _LATEST or type(text) is not str:
        raise ValueError(f"event {seq} has no time, or no text")
    if kind in ("report", "failure") and not (type(agent) is type(interval) is int and agent >= 0 and interval >= 1):
        raise ValueError(f"event {seq}, a {kind}, is of no agent and interval")
    if kind == "report":
        if (score is not None and type(score) is not float) or not is_name(checkpoint):
            raise ValueError(f"event {seq}, a report, has no score, or no checkpoint")
        value = math.nan if score is None else score
        details, error = Details.of_text(text), None
        if '"score_error"' in text and math.isfinite(value):
            error = details.metrics.get("score_error")
        return ReportEntry(agent, interval, value, error, checkpoint, details, seq, when)
    body: dict[str, Any] = json.loads(text)
    try:
        if kind == "decision":
            loads = {action["agent"]: action.get("load") for action in body["actions"]}
            decision = Decision.from_json(body)
            _check_decision(decision, loads)
            return DecisionEntry(decision, loads, seq, when)
        if kind == "failure":
            told = (body["attempt"], body["kind"], body["message"], body["traceback"])
            names = (body.get("damaged"), body.get("load"))
            if (
                type(told[0]) is not int
                or not all(type(part) is str for part in told[1:])
                or not all(map(is_name, names))
            ):
                raise TypeError("of another type than it must be")
            return FailureEntry(agent, interval, *told, body.get("damaged"), body.get("load"), seq, when)
        if kind == "extension":
            if type(body["intervals"]) is not int or not 1 <= body["intervals"] <= MOST_INTERVALS:
                raise TypeError("of another length than it can be")
            return ExtensionEntry(body["intervals"], seq, when)
        if kind == "note":
            return NoteEntry(str(body["message"]), seq, when)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"event {seq}, a {kind}, lacks something: {error!r:.200}") from error
    raise ValueError(f"event {seq} is of an unknown kind, {kind!r:.50}")


def check_length(intervals: Any) -> None:
    """Refuse a run that is longer than a log may say.

    Raises:
        OptionError: when it is.
    """
    if isinstance(intervals, int) and intervals > MOST_INTERVALS:
        raise OptionError(f"a run has at most {MOST_INTERVALS:,} intervals, but got {intervals:,}")


def agents_of(entry: Entry) -> Iterable[int]:
    """Return the agents that an entry speaks of."""
    if isinstance(entry, ReportEntry | FailureEntry):
        return (entry.agent,)
    if isinstance(entry, DecisionEntry):
        sources = (action.source for action in entry.decision.trained if action.source is not None)
        return (*(action.agent for action in entry.decision), *sources)
    return ()


def _check_decision(decision: Decision, loads: Mapping[Any, Any]) -> None:
    for action in decision:
        source = None if isinstance(action, Stop) else action.source
        if type(action.agent) is not int or not (source is None or type(source) is int):
            raise TypeError("an agent is no number")
        if not isinstance(action, Stop) and type(action.hparams) is not dict:
            raise TypeError("hparams are no dict")
    if type(decision.notes) is not dict or not all(map(is_name, loads.values())):
        raise TypeError("notes are no dict, or a checkpoint has no name")


def is_name(checkpoint: Any) -> bool:
    """Return whether this is the name of a checkpoint, and of nothing outside their folder; None is one of none."""
    return checkpoint is None or (type(checkpoint) is str and _CHECKPOINT.fullmatch(checkpoint) is not None)


def _decision_to_json(entry: DecisionEntry) -> dict[str, Any]:
    body = entry.decision.to_json()
    for action, written in zip(entry.decision, body["actions"], strict=True):
        if not isinstance(action, Stop):
            written["load"] = entry.loads.get(action.agent)
    return body
