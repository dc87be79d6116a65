"""Synthetic problems with a known optimum, so that regret is exact and a whole run takes a second."""

from popbandits.problems._deceptive import Deceptive
from popbandits.problems._gp_draw import GPDraw
from popbandits.problems._mixed import Mixed
from popbandits.problems._moving_peak import MovingPeak
from popbandits.problems._noisy_sgd import NoisySGD
from popbandits.problems._problem import Problem, Weights, signal_size
from popbandits.problems._quadratic import Quadratic
from popbandits.problems._quality import FAMILIES, Cell, quality
from popbandits.problems._simulate import Outcome, simulate
from popbandits.problems._theory import theory_regret

__all__ = [
    "FAMILIES",
    "Cell",
    "Deceptive",
    "GPDraw",
    "Mixed",
    "MovingPeak",
    "NoisySGD",
    "Outcome",
    "Problem",
    "Quadratic",
    "Weights",
    "quality",
    "signal_size",
    "simulate",
    "theory_regret",
]
