"""The log: one SQLite file with one row an event, durable when `commit` returns.

    settings   what the run was started with, one JSON object
    events     seq, kind (decision, report, failure, note), agent, interval, score, checkpoint, time, body (JSON), crc

Rows are only ever added. Each carries a checksum of itself, so that damage is named and never taken for a shorter run.
"""

import json
import math
import os
import sqlite3
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from popbandits._errors import RunError, StorageError
from popbandits.run._wal import damaged

FILE = "run.sqlite"
_SCHEMA = 2
_APPLICATION = 0x70623200  # "pb2"
_EVENTS = """CREATE TABLE events (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, agent INTEGER, interval INTEGER, score REAL,
    checkpoint TEXT, time REAL NOT NULL, body TEXT NOT NULL, crc INTEGER NOT NULL
)"""
_NUMBERS = struct.Struct("<dd").pack
_SETTINGS = "CREATE TABLE settings (body TEXT NOT NULL, crc INTEGER NOT NULL)"


@dataclass(frozen=True)
class Entry:
    """One row of the log.

    Args:
        kind: "decision", "report", "failure" or "note".
        given: everything else, as plain JSON or its text: a long log is read without parsing what nobody asks for.
        agent, interval, score, checkpoint: where they apply. A score that is nan is kept as such.
        seq, time: given by the log.
    """

    kind: str
    given: dict[str, Any] | str = field(repr=False)
    agent: int | None = None
    interval: int | None = None
    score: float | None = None
    checkpoint: str | None = None
    seq: int = 0
    time: float = field(default=0.0, compare=False)

    @cached_property
    def body(self) -> dict[str, Any]:
        """Everything else, as plain JSON."""
        body: dict[str, Any] = json.loads(self.given) if isinstance(self.given, str) else self.given
        return body

    @property
    def score_error(self) -> float | None:
        """The standard error of a report's score; None where the trainable gave none."""
        if isinstance(self.given, str) and '"score_error"' not in self.given:
            return None  # most reports of long logs: not parsed for this
        error = self.body.get("metrics", {}).get("score_error") if self.kind == "report" else None
        return error if error is not None and self.score is not None and math.isfinite(self.score) else None


class Log:
    """The log of one run, open for reading or for writing."""

    def __init__(self, folder: Path, database: sqlite3.Connection, seq: int) -> None:
        self.folder = folder
        self._database = database
        self._seq = seq
        self._open = False

    @staticmethod
    def create(folder: Path, settings: dict[str, Any]) -> "Log":
        """Start the log of a new run.

        Raises:
            RunError: when the folder has one already.
        """
        if (folder / FILE).exists():
            raise RunError(f"{folder} holds a run already; resume it, or choose another folder")
        text = json.dumps(settings)
        beside = folder / f".new-{FILE}"
        beside.unlink(missing_ok=True)
        with _named(folder):
            database = _connect(beside, "rwc")
            database.executescript(
                f"PRAGMA application_id={_APPLICATION}; PRAGMA user_version={_SCHEMA}; BEGIN; {_EVENTS}; {_SETTINGS};"
            )
            database.execute("INSERT INTO settings VALUES (?, ?)", (text, zlib.crc32(text.encode())))
            database.execute("COMMIT")
            database.close()  # and with it the write-ahead log is in the file: a name is all that is missing
        os.rename(beside, folder / FILE)
        descriptor = os.open(folder, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        return Log.open(folder, write=True)

    @staticmethod
    def open(folder: Path, *, write: bool = False) -> "Log":
        """Open the log of a run.

        Raises:
            RunError: when there is none, it is damaged, or of a version this program does not know.
        """
        if not (folder / FILE).is_file():
            raise RunError(f"there is no run in {folder}: it has no {FILE}")
        if write and damaged(folder / f"{FILE}-wal"):  # a reader may meet a writer, for whom this would be too early
            raise RunError(f"the log of {folder} is damaged: reports in {FILE}-wal can no longer be read")
        with _named(folder):
            database = _connect(folder / FILE, "rw" if write else "ro")
            application = database.execute("PRAGMA application_id").fetchone()[0]
            version = database.execute("PRAGMA user_version").fetchone()[0]
            if application != _APPLICATION:
                raise RunError(f"{folder / FILE} is not the log of a popbandits run")
            if version != _SCHEMA:
                raise RunError(
                    f"the run in {folder} has log version {version}, but this popbandits reads version {_SCHEMA}; "
                    "use the version of popbandits that wrote it"
                )
            tables = database.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()
            if tables != [(_EVENTS,), (_SETTINGS,)]:  # a bit of it flipped could make rows invisible
                raise RunError(f"the log of {folder} is damaged: its tables are not those of a run")
            seq = database.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0]
        return Log(folder, database, seq)

    @property
    def length(self) -> int:
        """The number of its rows, when it was opened and as added since."""
        return self._seq

    @property
    def settings(self) -> dict[str, Any]:
        """What the run was started with."""
        with _named(self.folder):
            rows = self._database.execute("SELECT body, crc FROM settings").fetchall()
            if len(rows) != 1 or zlib.crc32(rows[0][0].encode()) != rows[0][1]:
                raise RunError(f"the log of {self.folder} is damaged: its settings do not match their checksum")
            settings: dict[str, Any] = json.loads(rows[0][0])
            return settings

    def add(self, entry: Entry) -> Entry:
        """Add a row and return it with its number and time; it is durable after `commit`."""
        with _named(self.folder):
            if not self._open:
                self._database.execute("BEGIN IMMEDIATE")
                self._open = True
            seq = self._seq + 1
            body = json.dumps(entry.body)
            # SQLite has no nan: a report without a score is one whose score was nan. Nor does it have a negative zero.
            score = None if entry.score is None or math.isnan(entry.score) else entry.score + 0.0
            now = time.time()
            row = (seq, entry.kind, entry.agent, entry.interval, score, entry.checkpoint, now, body)
            self._database.execute("INSERT INTO events VALUES (?,?,?,?,?,?,?,?,?)", (*row, _crc(row)))
            self._seq = seq
        return replace(entry, seq=seq, time=now)

    def commit(self) -> None:
        """Make every row added so far durable."""
        if self._open:
            with _named(self.folder):
                self._database.execute("COMMIT")
                self._open = False

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Yield the rows after a sequence number, each checked.

        Raises:
            RunError: when a row is damaged or missing.
        """
        with _named(self.folder):
            expected = after + 1
            for row in self._database.execute("SELECT * FROM events WHERE seq > ? ORDER BY seq", (after,)):
                if row[0] != expected or row[8] != _crc(row[:8]):
                    raise RunError(f"the log of {self.folder} is damaged at event {expected}")
                expected += 1
                seq, kind, agent, interval, score, checkpoint, when, body = row[:8]
                score = math.nan if kind == "report" and score is None else score
                yield Entry(kind, body, agent, interval, score, checkpoint, seq, when)

    def check(self) -> None:
        """Refuse a damaged file.

        Raises:
            RunError: which says what SQLite found.
        """
        with _named(self.folder):
            found = self._database.execute("PRAGMA integrity_check").fetchone()[0]
            if found != "ok":
                raise RunError(f"the log of {self.folder} is damaged: {found}")

    def close(self) -> None:
        """Close the file; rows that were not committed are not kept."""
        self._database.close()


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    database = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10, check_same_thread=False)
    if mode != "ro":
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
    return database


def _crc(row: tuple[Any, ...]) -> int:
    seq, kind, agent, interval, score, checkpoint, when, body = row
    numbers = _NUMBERS(math.nan if score is None else score, when)  # numbers as text would cost as much as the rest
    return zlib.crc32(f"{seq} {kind} {agent} {interval} {checkpoint} {body}".encode(), zlib.crc32(numbers))


@contextmanager
def _named(folder: Path) -> Iterator[None]:
    """Turn what SQLite says into one sentence with the run's name."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "full" in str(error) or "I/O" in str(error):
            raise StorageError(
                f"the log of {folder} could not be written ({error}); make room and resume: nothing logged is lost"
            ) from error
        raise RunError(f"the log of {folder} cannot be used: {error}") from error
    except (sqlite3.DatabaseError, ValueError, OverflowError) as error:
        raise RunError(f"the log of {folder} is damaged: {error}") from error
