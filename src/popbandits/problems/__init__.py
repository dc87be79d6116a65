"""Synthetic problems: most have a known optimum, so that regret is exact, and a whole run takes a second."""

from popbandits.problems._deceptive import Deceptive
from popbandits.problems._dip import Dip
from popbandits.problems._gp_draw import GPDraw
from popbandits.problems._ill_conditioned import IllConditioned
from popbandits.problems._lottery import Lottery
from popbandits.problems._mixed import Mixed
from popbandits.problems._moving_peak import MovingPeak
from popbandits.problems._noisy_sgd import NoisySGD
from popbandits.problems._plateau import Plateau
from popbandits.problems._problem import Problem, Referenced, Weights, signal_size
from popbandits.problems._quadratic import Quadratic
from popbandits.problems._quality import BITING, FAMILIES, REFERENCES, Family, Regrets, quality, run_family
from popbandits.problems._simulate import Simulated, simulate
from popbandits.problems._theory import theory_regret

__all__ = [
    "BITING",
    "FAMILIES",
    "REFERENCES",
    "Deceptive",
    "Dip",
    "Family",
    "GPDraw",
    "IllConditioned",
    "Lottery",
    "Mixed",
    "MovingPeak",
    "NoisySGD",
    "Plateau",
    "Problem",
    "Quadratic",
    "Referenced",
    "Regrets",
    "Simulated",
    "Weights",
    "quality",
    "run_family",
    "signal_size",
    "simulate",
    "theory_regret",
]
