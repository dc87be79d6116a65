"""What can be had on a task: the best constant hparams, and the best straight line from some to others, by search.

A candidate is a line in the unit cube: hparams move from its first point in the first interval to its second point in
the last; a constant is a line of no length. One agent trains under it and is judged at the end. The search tries points
that fill the cube, then points near the best of them, then lines near the best, and gives the best of each round more
seeds, so that luck does not decide. Its seeds are others than those that methods are compared with.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._files import write_whole
from benchmarks._lockstep import Compiled, Fleet, key_of
from popbandits._errors import OptionError
from popbandits._random import generator, quasi_random
from popbandits._types import Floats

FOLDER = Path("results/real/ceilings")
FIRST_SEED = 10_000
LEARNERS = {"pendulum": 1, "acrobot": 1, "mountain-car": 1, "fashion": 1, "text": 1, "lunar-lander": 1}
"""The revision of what each task trains; raised by a change that makes earlier results incomparable."""
WIDTH = 128  # agents trained in one call
FEW, MORE, MANY = 2, 6, 12  # seeds of a candidate: of every one, of the best of a round, of the last few


@dataclass(frozen=True)
class Ceiling:
    """What was found on a task.

    Args:
        untrained: what fresh weights are worth.
        constant, line: points of the unit cube, one and two.
        constant_score, line_score: the mean of MANY agents that were judged, each with a seed of its own.
        trained: agents that the search has trained.
        revision: of the learner.
    """

    untrained: float
    constant: list[float]
    constant_score: float
    line: list[list[float]]
    line_score: float
    trained: int
    revision: int

    def points(self, name: str, intervals: int) -> Floats:
        """Return the points of all intervals under the constant or the line."""
        ends = np.array([self.constant, self.constant] if name == "constant" else self.line)
        return np.asarray(along(ends[None], intervals)[0])


def has_ceiling(task: str) -> bool:
    """Return whether somebody has searched, with the learners as they are now."""
    file = FOLDER / f"{task}.json"
    return file.exists() and Ceiling(**json.loads(file.read_text())).revision == LEARNERS[task]


def read_ceiling(task: str) -> Ceiling:
    """Return what was found on a task.

    Raises:
        OptionError: when nobody has searched yet.
    """
    if not has_ceiling(task):
        raise OptionError(f"the ceilings of {task} are not known yet; find them with: real ceilings {task}")
    return Ceiling(**json.loads((FOLDER / f"{task}.json").read_text()))


def along(lines: Floats, intervals: int) -> Floats:
    """Return the points of all intervals on lines, n x 2 x dim to n x intervals x dim."""
    return np.linspace(lines[:, 0], lines[:, 1], intervals, axis=1)


def search(functions: Compiled, intervals: int, revision: int) -> Iterator[str | Ceiling]:
    """Yield a line of text for each round, and at last what was found with this revision of a learner."""
    judge = _Judge(functions, intervals)
    rng = generator(0, "ceilings")
    dim = functions.space.dim
    untrained = judge.untrained()
    points = quasi_random(WIDTH, dim, rng)
    constants = _Best.of(judge, np.stack([points, points], axis=1))
    yield f"{WIDTH} constants: the best has {constants.score:.4g}"
    near = _clipped(np.repeat(constants.top(8), WIDTH // 8, axis=0) + _noise(rng, 0.1, (WIDTH, 1, dim)))
    constants = constants.joined(_Best.of(judge, near))
    yield f"{WIDTH} more near the best: {constants.score:.4g}"
    lines = constants
    for spread in (0.3, 0.15, 0.08):
        near = _clipped(np.repeat(lines.top(8), WIDTH // 8, axis=0) + _noise(rng, spread, (WIDTH, 2, dim)))
        lines = lines.joined(_Best.of(judge, near))
        yield f"{WIDTH} lines within {spread}: the best has {lines.score:.4g}"
    constant, constant_score = constants.final()
    line, line_score = lines.final()
    found = (untrained, constant[0].tolist(), constant_score, line.tolist(), line_score)
    yield Ceiling(*found, judge.trained, revision)


def scan(functions: Compiled, intervals: int) -> list[str]:
    """Return where good hparams are: what the best quarter of the first constants of a search have in common.

    Half of that quarter lies within the range that is given for each hparam. A corner that somebody who knows the task
    would search should agree with it.
    """
    points = quasi_random(WIDTH, functions.space.dim, generator(0, "ceilings"))
    worth = _Judge(functions, intervals)(np.stack([points, points], axis=1), FEW)
    best = points[np.argsort(-worth)[: WIDTH // 4]]
    middle = [functions.space.decode(row) for row in np.quantile(best, [0.25, 0.5, 0.75], axis=0)]
    low, median, high = np.quantile(worth, [0.25, 0.5, 0.75])
    lines = [
        f"{WIDTH} constants: a quarter is worth {high:.4g} or more, half {median:.4g}, a quarter {low:.4g} or less"
    ]
    for name in functions.space.params:
        a, b, c = (row[name] for row in middle)
        lines.append(f"  {name}: {a:.3g} to {c:.3g}, median {b:.3g}")
    return lines


class _Judge:
    """Trains agents under lines and says what they are worth."""

    def __init__(self, functions: Compiled, intervals: int) -> None:
        self._functions, self._intervals = functions, intervals
        self.trained = 0
        self._seed = FIRST_SEED

    def untrained(self) -> float:
        """Return what fresh weights are worth, the mean of WIDTH."""
        fleet = Fleet(self._functions, WIDTH)
        fleet.begin(self._seeds("weights"), None)
        return float(np.mean(fleet.judge(fleet.state, self._seeds("judge"))[0]))

    def __call__(self, lines: Floats, seeds: int) -> Floats:
        """Return the mean worth over so many seeds of each line, n x 2 x dim to n."""
        wanted = np.repeat(lines, seeds, axis=0)
        found = np.concatenate([self._train(wanted[i : i + WIDTH]) for i in range(0, len(wanted), WIDTH)])
        return np.asarray(found.reshape(len(lines), seeds).mean(1))

    def _train(self, lines: Floats) -> Floats:
        count = len(lines)
        self.trained += count
        self._seed += WIDTH
        full = np.concatenate([lines, np.repeat(lines[:1], WIDTH - count, axis=0)])
        points = along(full, self._intervals)
        fleet = Fleet(self._functions, WIDTH)
        everyone = np.ones(WIDTH, bool)
        fleet.begin(self._seeds("weights"), None)
        for t in range(self._intervals):
            decoded = [self._functions.space.decode(point) for point in points[:, t]]
            columns = {name: np.array([row[name] for row in decoded], np.float32) for name in decoded[0]}
            fleet.train(columns, everyone)
        judged = fleet.judge(fleet.state, self._seeds("judge"))[0][:count]
        return np.asarray(np.where(np.isfinite(judged), judged, np.nanmin(judged)))

    def _seeds(self, purpose: str) -> Any:
        return np.array([key_of(self._seed + i, purpose) for i in range(WIDTH)], np.uint32)


@dataclass(frozen=True)
class _Best:
    """The best candidates so far, the best first, and what each is worth."""

    judge: _Judge
    lines: Floats
    worth: Floats

    @staticmethod
    def of(judge: _Judge, lines: Floats) -> "_Best":
        """Return the best of some candidates: FEW seeds for all, MORE for the sixteen that do best by those."""
        chosen = lines[np.argsort(-judge(lines, FEW))[:16]]
        worth = judge(chosen, MORE)
        order = np.argsort(-worth)
        return _Best(judge, chosen[order], worth[order])

    @property
    def score(self) -> float:
        """What the best is worth."""
        return float(self.worth[0])

    def top(self, count: int) -> Floats:
        """Return the best lines."""
        return self.lines[:count]

    def joined(self, other: "_Best") -> "_Best":
        """Return the better ones of both."""
        lines, worth = np.concatenate([self.lines, other.lines]), np.concatenate([self.worth, other.worth])
        order = np.argsort(-worth)[:16]
        return _Best(self.judge, lines[order], worth[order])

    def final(self) -> tuple[Floats, float]:
        """Return the best of the first eight by MANY new seeds, and what it is worth by as many more."""
        best = self.lines[int(np.argmax(self.judge(self.lines[:8], MANY)))]
        return best, float(self.judge(best[None], MANY)[0])


def _noise(rng: np.random.Generator, spread: float, shape: tuple[int, ...]) -> Floats:
    return spread * rng.standard_normal(shape)


def _clipped(lines: Floats) -> Floats:
    return np.clip(lines, 0.0, 1.0)


def write_ceiling(task: str, ceiling: Ceiling) -> None:
    """Keep what was found."""
    write_whole(FOLDER / f"{task}.json", json.dumps(asdict(ceiling), indent=1))
