"""Random numbers that depend on what they are for, and on nothing else.

A generator is keyed by (seed, purpose, interval, agent). Two calls with one key draw the same numbers, whatever was
drawn in between: this is what makes a run independent of the order of its reports and of how often it was resumed.
"""

import zlib

import numpy as np

from popbandits._types import Floats


def generator(seed: int, purpose: str, interval: int = 0, agent: int = 0) -> np.random.Generator:
    """Return the generator for one purpose of one agent at one interval."""
    key = (seed, zlib.crc32(purpose.encode()), interval, agent)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(key)))


def quasi_random(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Return n points that fill the d-cube more evenly than independent ones, n x d.

    A Kronecker sequence on the powers of the generalised golden ratio, shifted at random. Chosen over Sobol because it
    needs no tables, has no preferred n, and importing scipy's takes longer than a whole decision.
    """
    if d == 0:
        return np.zeros((n, 0))
    phi = 2.0
    for _ in range(40):  # the fixed point of phi = (1 + phi) ** (1 / (d + 1))
        phi = (1.0 + phi) ** (1.0 / (d + 1))
    alpha = phi ** -np.arange(1.0, d + 1.0)
    points: Floats = (rng.random(d) + np.outer(np.arange(1, n + 1), alpha)) % 1.0
    return points
