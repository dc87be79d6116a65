"""The log: one SQLite file with one row an event, durable when `commit` returns.

    settings   what the run was started with, one JSON object
    events     seq, kind, agent, interval, score, checkpoint, time, body (JSON), crc

A kind is decision, report, failure, extension or note.

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
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from popbandits._errors import RunError, StorageError
from popbandits.run._entries import Entry, agents_of, from_row, to_row
from popbandits.run._mark import FILE as MARK
from popbandits.run._mark import Mark, marked
from popbandits.run._wal import damaged

FILE = "run.sqlite"
_SCHEMA = 2
_APPLICATION = 0x70623200  # "pb2"
_EVENTS = """CREATE TABLE events (
    seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, agent INTEGER, interval INTEGER, score REAL,
    checkpoint TEXT, time REAL NOT NULL, body TEXT NOT NULL, crc INTEGER NOT NULL
)"""
_FOLDED = 1.0  # seconds after which a commit folds the write-ahead file into the log
_LARGEST = 64_000_000  # bytes of the settings or of any event: no more is brought into memory
_NUMBERS = struct.Struct("<dd").pack
_SETTINGS = "CREATE TABLE settings (body TEXT NOT NULL, crc INTEGER NOT NULL)"


class Log:
    """The log of one run, open for reading or for writing."""

    def __init__(self, folder: Path, database: sqlite3.Connection, seq: int, mark: Mark | None) -> None:
        self.folder = folder
        self._database = database
        self._seq = seq
        self._agents: int | None = None
        self._mark = mark
        self._open = False
        self._folded = time.monotonic()

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
        try:
            with closing(_connect(beside, "rwc")) as database:
                database.executescript(
                    f"PRAGMA application_id={_APPLICATION}; PRAGMA user_version={_SCHEMA}; "
                    f"BEGIN; {_EVENTS}; {_SETTINGS};"
                )
                database.execute("INSERT INTO settings VALUES (?, ?)", (text, zlib.crc32(text.encode())))
                database.execute("COMMIT")
            # Now that it is closed, the write-ahead log is in the file, and a name is all that is missing. But closing
            # says nothing of a disk that was full or failed meanwhile: what was not folded into the file is not there
            # for whoever opens it under its name.
            with closing(_connect(beside, "ro&immutable=1")) as made:
                whole = made.execute("SELECT body FROM settings").fetchall() == [(text,)]
            if not whole:
                raise sqlite3.OperationalError("its settings were not written")
            for left in (f"{beside.name}-wal", f"{beside.name}-shm", MARK):  # the mark is of a run that was here before
                (folder / left).unlink(missing_ok=True)
            os.rename(beside, folder / FILE)
            descriptor = os.open(folder, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)
        except (sqlite3.DatabaseError, OSError) as error:
            for left in (FILE, f".new-{FILE}", f".new-{FILE}-wal", f".new-{FILE}-shm"):
                with suppress(OSError):
                    (folder / left).unlink(missing_ok=True)
            raise StorageError(
                f"the log of {folder} could not be created ({error}); make room, and start the run again"
            ) from error
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
        for beside in ("", "-wal", "-shm", "-journal"):  # SQLite would wait for a pipe for ever, and follow a link
            _check_plain(folder / f"{FILE}{beside}")
        least = marked(folder)  # before the log is looked at: a writer may add to both meanwhile
        with _named(folder), ExitStack() as refused:
            database = _connect(folder / FILE, "rw") if write else _connect_to_read(folder / FILE)
            refused.callback(database.close)
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST)
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
            if seq < least:
                raise RunError(
                    f"the log of {folder} lacks {least - seq} of its {least} events: was it copied without {FILE}-wal, "
                    f"or was that file cut? Put it back; if it is lost for good, remove {MARK} to go on without"
                )
            try:
                mark = Mark(folder) if write else None
            except OSError as error:
                raise RunError(f"{folder / MARK} cannot be written: {error.strerror}") from None
            refused.pop_all()  # it stays open
            return Log(folder, database, seq, mark)

    @property
    def length(self) -> int:
        """The number of its rows, when it was opened and as added since."""
        return self._seq

    @property
    def settings(self) -> dict[str, Any]:
        """What the run was started with."""
        with _named(self.folder):
            rows = self._database.execute("SELECT body, crc FROM settings").fetchall()
            if len(rows) != 1 or type(rows[0][0]) is not str or zlib.crc32(rows[0][0].encode()) != rows[0][1]:
                raise RunError(f"the log of {self.folder} is damaged: its settings do not match their checksum")
            settings: dict[str, Any] = json.loads(rows[0][0])
            if type(settings) is not dict:
                raise RunError(f"the log of {self.folder} is damaged: its settings are no settings")
            return settings

    def add(self, entry: Entry) -> Entry:
        """Add a row and return it with its number and time; it is durable after `commit`."""
        with _named(self.folder):
            if not self._open:
                self._database.execute("BEGIN IMMEDIATE")
                self._open = True
            seq, now = self._seq + 1, time.time()
            kind, agent, interval, score, checkpoint, body = to_row(entry)
            if len(body) > _most(self._size()):
                raise RunError(
                    f"a {kind} of {len(body):,} letters is too large for the log of {self.folder}, which takes "
                    f"{_most(self._size()):,}: the notes of a strategy and the metrics of a step must be smaller"
                )
            row = (seq, kind, agent, interval, score, checkpoint, now, body)
            self._database.execute("INSERT INTO events VALUES (?,?,?,?,?,?,?,?,?)", (*row, _crc(row)))
            self._seq = seq
        return entry._replace(seq=seq, time=now)

    def commit(self) -> None:
        """Make every row added so far durable."""
        if self._open:
            with _named(self.folder):
                self._database.execute("COMMIT")
                self._open = False
                if self._mark is not None:
                    with suppress(OSError):  # it tells less than it could, and never more than there is
                        self._mark.set(self._seq)
                if time.monotonic() - self._folded > _FOLDED:
                    self._database.execute("PRAGMA wal_checkpoint(PASSIVE)")
                    self._folded = time.monotonic()

    def entries(self, after: int = 0, to: int | None = None) -> Iterator[Entry]:
        """Yield the rows after a sequence number, up to another or all of them, each checked.

        Raises:
            RunError: when a row is damaged or missing.
        """
        size = self._size()
        last = self._seq if to is None else to
        with _named(self.folder):
            expected = after + 1
            rows = self._database.execute("SELECT * FROM events WHERE seq > ? AND seq <= ? ORDER BY seq", (after, last))
            for row in rows:
                yield self._checked(row, expected, size)
                expected += 1

    def of_kind(self, kind: str, to: int) -> Iterator[Entry]:
        """Yield the rows of one kind, the newest first, up to a sequence number, each checked.

        Raises:
            RunError: when a row is damaged.
        """
        size = self._size()
        with _named(self.folder):
            query = "SELECT * FROM events WHERE kind = ? AND seq <= ? ORDER BY seq DESC"
            for row in self._database.execute(query, (kind, to)):
                yield self._checked(row, row[0], size)

    def checksum(self, seq: int) -> int | None:
        """Return the checksum that a row was written with; None when there is no such row."""
        with _named(self.folder):
            row = self._database.execute("SELECT crc FROM events WHERE seq = ?", (seq,)).fetchone()
            return None if row is None else row[0]

    def _size(self) -> int:
        if self._agents is None:
            size = self.settings.get("size", 0)
            self._agents = size if type(size) is int else 0
        return self._agents

    def _checked(self, row: tuple[Any, ...], expected: int, size: int) -> Entry:
        fields = row[:8]
        if type(row[7]) is str and len(row[7]) > _most(size):
            raise RunError(f"the log of {self.folder} is damaged: event {expected} is larger than any can be")
        if row[0] != expected or row[8] != _crc(fields):
            raise RunError(f"the log of {self.folder} is damaged at event {expected}")
        entry = from_row(fields)
        if any(not 0 <= agent < size for agent in agents_of(entry)):
            raise RunError(f"the log of {self.folder} is damaged: event {expected} is of an agent beyond {size}")
        return entry

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
        if self._mark is not None:
            self._mark.close()
            self._mark = None


def _check_plain(path: Path) -> None:
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise RunError(f"the log of {path.parent} cannot be used: {path.name} is not a plain file")


def _most(size: int) -> int:
    """Return how many letters an event may have in a run of so many agents."""
    return min(_LARGEST, 1_000_000 + 20_000 * size)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    database = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10, check_same_thread=False)
    if mode != "ro":
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
    return database


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a log for reading, also one on media that cannot be written: SQLite itself wants to write beside it."""
    database = _connect(path, "ro")
    try:
        database.execute("PRAGMA user_version").fetchone()
    except sqlite3.OperationalError:
        database.close()
        rest = path.with_name(f"{path.name}-wal")
        if rest.exists() and rest.stat().st_size > 0:
            raise sqlite3.OperationalError(
                f"its newest part is in {rest.name}, which is read only where the folder can be written; copy it there"
            ) from None
        return _connect(path, "ro&immutable=1")
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
    except (sqlite3.DatabaseError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise RunError(f"the log of {folder} is damaged: {error!s:.300}") from error
