"""What the speed benchmarks measured last, kept under results/speed/: the documentation's table is made from it.

Each benchmark calls `keep` beside what it prints. A figure replaces the one of the same name, and carries the command
that measured it.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks._files import write_whole

FOLDER = Path("results/speed")
_ORDER = ("imports", "decision", "engine", "long_run", "vectorised", "ray_executor", "report", "dashboard", "ppo")


@dataclass(frozen=True)
class Figure:
    """One measurement.

    Args:
        what: was measured, in words.
        ours: what it took, with its unit.
        peer: what it took the peer, and who that is; empty where there is none.
        ratio: how many times better ours is; empty where there is no peer.
        command: that measured it.
    """

    what: str
    ours: str
    peer: str
    ratio: str
    command: str


def keep(what: str, ours: str, peer: str = "", ratio: str = "") -> None:
    """Keep a figure of the benchmark that is running."""
    name = Path(sys.argv[0]).stem
    figure = Figure(what, ours, peer, ratio, " ".join(["python -m", f"benchmarks.{name}", *_arguments()]))
    kept = {known.what: known for known in read(name)} | {what: figure}
    write_whole(FOLDER / f"{name}.json", json.dumps([asdict(each) for each in kept.values()], indent=1))


def _arguments() -> list[str]:
    """Return what the command line was given, but for paths of this machine."""
    return [word if "/" not in word else "PYTHON" for word in sys.argv[1:]]


def read(name: str) -> list[Figure]:
    """Return the figures of one benchmark, none where it has not been run."""
    file = FOLDER / f"{name}.json"
    return [Figure(**body) for body in json.loads(file.read_text())] if file.exists() else []


def show() -> Iterator[str]:
    """Yield all figures as a table."""
    yield "| what | popbandits | peer | ratio | command |"
    yield "|---|---|---|---|---|"
    for figure in (figure for name in _ORDER for figure in read(name)):
        yield f"| {figure.what} | {figure.ours} | {figure.peer} | {figure.ratio} | `{figure.command}` |"
