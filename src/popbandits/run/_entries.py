"""What a log holds: the entries, and the rows they are kept as.

`ReportEntry`     an agent has ended an interval, or was given up (then its score is nan)
`DecisionEntry`   a strategy has decided, and each agent that trains is told which checkpoint to load
`FailureEntry`    an attempt at an interval has failed
`NoteEntry`       something that people should know

Scores are the user's own metric, as `step` returned it: where mode is "min", lower is better. Entries are named tuples,
because a long log has many of them.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from popbandits.population import Decision, Stop


class Seconds(NamedTuple):
    """How long the parts of an interval took."""

    load: float = 0.0
    train: float = 0.0
    save: float = 0.0


class ReportEntry(NamedTuple):
    """An agent has ended an interval.

    Args:
        agent, interval: which.
        score: the metric that is learned by; nan for an agent that was given up after its last attempt.
        score_error: the standard error of the score; None where the trainable gave none.
        checkpoint: the name of the weights it ended with; None where there are none.
        metrics: every number that `step` returned.
        attempt: the how-manieth try of the interval it was, from 1.
        seconds: how long it took.
        seq, time: its number in the log and when it was written; given by the log.
    """

    agent: int
    interval: int
    score: float
    score_error: float | None = None
    checkpoint: str | None = None
    metrics: Mapping[str, float] = {}
    attempt: int = 1
    seconds: Seconds = Seconds()
    seq: int = 0
    time: float = 0.0


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


class NoteEntry(NamedTuple):
    """Something that people should know.

    Args:
        message: one sentence.
        seq, time: its number in the log and when it was written; given by the log.
    """

    message: str
    seq: int = 0
    time: float = 0.0


Entry: TypeAlias = ReportEntry | DecisionEntry | FailureEntry | NoteEntry


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
        body = {"attempt": entry.attempt, "metrics": dict(entry.metrics), "seconds": entry.seconds}
        return Row("report", entry.agent, entry.interval, score, entry.checkpoint, json.dumps(body))
    if isinstance(entry, DecisionEntry):
        return Row("decision", None, None, None, None, json.dumps(_decision_to_json(entry)))
    if isinstance(entry, FailureEntry):
        names = ("attempt", "kind", "message", "traceback")
        body = {name: getattr(entry, name) for name in names}
        if entry.damaged is not None:
            body |= {"damaged": entry.damaged, "load": entry.load}
        return Row("failure", entry.agent, entry.interval, None, None, json.dumps(body))
    return Row("note", None, None, None, None, json.dumps({"message": entry.message}))


def from_row(row: Row, seq: int, time: float) -> Entry:
    """Return the entry that a row holds.

    Raises:
        ValueError: when the row is of no kind that is known, or lacks something.
    """
    kind, agent, interval, score, checkpoint, text = row
    body: dict[str, Any] = json.loads(text)
    try:
        if kind == "report":
            assert agent is not None
            assert interval is not None
            value = math.nan if score is None else score
            metrics = body["metrics"]
            error = metrics.get("score_error") if math.isfinite(value) else None
            seconds = Seconds(*body["seconds"])
            return ReportEntry(agent, interval, value, error, checkpoint, metrics, body["attempt"], seconds, seq, time)
        if kind == "decision":
            loads = {action["agent"]: action.get("load") for action in body["actions"]}
            return DecisionEntry(Decision.from_json(body), loads, seq, time)
        if kind == "failure":
            assert agent is not None
            assert interval is not None
            told = (body["attempt"], body["kind"], body["message"], body["traceback"])
            return FailureEntry(agent, interval, *told, body.get("damaged"), body.get("load"), seq, time)
        if kind == "note":
            return NoteEntry(body["message"], seq, time)
    except (KeyError, TypeError, AssertionError) as error:
        raise ValueError(f"event {seq}, a {kind}, lacks something: {error!r}") from error
    raise ValueError(f"event {seq} is of an unknown kind, {kind!r}")


def _decision_to_json(entry: DecisionEntry) -> dict[str, Any]:
    body = entry.decision.to_json()
    for action, written in zip(entry.decision, body["actions"], strict=True):
        if not isinstance(action, Stop):
            written["load"] = entry.loads.get(action.agent)
    return body
