"""How the references of the ill-conditioned quadratic were found: the best constant, and the best straight line.

    python -m benchmarks.references

The expected loss after a schedule is known exactly, so a candidate needs no seeds. Each round draws candidates around
the best so far, in the unit cube, and keeps the best quarter; the spread shrinks with them.
"""

import argparse

import numpy as np

from popbandits._random import generator, quasi_random
from popbandits._types import Floats
from popbandits.problems import IllConditioned
from popbandits.problems._problem import along

INTERVALS = 20
CANDIDATES, ROUNDS = 160, 12
VARIANTS = (IllConditioned(), IllConditioned(48, 1e-4), IllConditioned(96, 3e-3, 4.0))


def loss(problem: IllConditioned, line: Floats) -> float:
    """Return log₁₀ of the expected loss under a line of the cube, 2 x dim."""
    points = along(line[0], line[1], INTERVALS)
    return float(np.log10(problem.expected_loss([problem.space.decode(point) for point in points])))


def search(problem: IllConditioned, ends: int, first: Floats | None = None) -> tuple[Floats, float]:
    """Return the best line, 2 x dim, and log₁₀ of its expected loss.

    Args:
        problem: which.
        ends: 1 for constants, 2 for lines.
        first: a line to begin near.
    """
    rng = generator(0, "references", ends)
    dim = problem.space.dim
    drawn = quasi_random(CANDIDATES, ends * dim, rng).reshape(CANDIDATES, ends, dim)
    if first is not None:
        drawn[0] = first[:ends]
    best: list[tuple[float, Floats]] = []
    for _ in range(ROUNDS):
        lines = np.broadcast_to(drawn, (len(drawn), 2, dim)) if ends == 1 else drawn
        best += [(loss(problem, line), line[:ends].copy()) for line in lines]
        best = sorted(best, key=lambda found: found[0])[: CANDIDATES // 4]
        elite = np.array([line for _, line in best])
        spread = elite.std(0) + 0.01
        drawn = np.clip(
            elite[rng.integers(0, len(elite), CANDIDATES)] + spread * rng.standard_normal(drawn.shape), 0, 1
        )
    found, line = best[0]
    return np.broadcast_to(line, (2, dim)), found


def main() -> None:
    """Print what was found for each variant."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for problem in VARIANTS:
        constant, least = search(problem, 1)
        line, less = search(problem, 2, constant)
        print(f"{problem}", flush=True)
        print(f"  best constant: log10 loss {least:.3f}: {problem.space.decode(constant[0])}")
        print(f"  line: log10 loss {less:.3f}: {problem.space.decode(line[0])} to {problem.space.decode(line[1])}")


if __name__ == "__main__":
    main()
