"""Whether SQLite's write-ahead file was damaged after it was written.

After a crash SQLite replays the file up to the first frame whose checksum fails, and drops the rest without a word:
right for a last transaction that was half written, wrong for a bit that flipped in an old one. The two can be told
apart. With synchronous=FULL a transaction is on the disk before the next begins, so a half-written one is the last:
behind it there is at most its own end. Damage within the last two transactions therefore passes for a crash that came a
little earlier.
"""

import struct
from pathlib import Path

_HEADER = struct.Struct(">8I")  # magic, version, page size, checkpoint number, two salts, two checksums
_FRAME = struct.Struct(">6I")  # page, size of the database (0 unless a transaction ends here), two salts, two checksums
_MAGIC = 0x377F0682
_LARGEST = 65_536


def damaged(wal: Path) -> bool:
    """Return whether frames that were durable once are no longer readable."""
    data = wal.read_bytes() if wal.is_file() else b""
    if len(data) <= _HEADER.size:
        return False
    magic, _, page, _, *salts = _HEADER.unpack_from(data)[:6]
    if magic & ~1 != _MAGIC or not 512 <= page <= _LARGEST or _sums(data[:24], (0, 0), magic & 1) != _sealed(data, 24):
        return True  # the header is written and synced before any frame
    size = _FRAME.size + page
    frames = [(at, _FRAME.unpack_from(data, at)) for at in range(_HEADER.size, len(data) - size + 1, size)]
    ours = {at: ends for at, (_, ends, *salted, _, _) in frames if salted == salts}
    sums = _sealed(data, 24)
    for at, _ in frames:
        sums = _sums(data[at : at + 8] + data[at + _FRAME.size : at + size], sums, magic & 1)
        if at not in ours or sums != _sealed(data, at + 16):
            # Frames of other salts are left over from before the file was begun anew; none of ours lies behind them.
            return len([behind for behind, ends in ours.items() if ends and behind >= at]) > 1
    return False


def _sealed(data: bytes, at: int) -> tuple[int, int]:
    first, second = struct.unpack_from(">2I", data, at)
    return first, second


def _sums(data: bytes, sums: tuple[int, int], big: int) -> tuple[int, int]:
    """Return SQLite's running checksum of some bytes, which are a multiple of eight."""
    first, second = sums
    words = struct.unpack(f"{'>' if big else '<'}{len(data) // 4}I", data)
    for i in range(0, len(words), 2):
        first = (first + words[i] + second) & 0xFFFFFFFF
        second = (second + words[i + 1] + first) & 0xFFFFFFFF
    return first, second
