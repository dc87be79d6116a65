"""The time-varying Gaussian process: kernel, noise, fit, block length, surprise, posterior; each on its own."""

from popbandits.gp._fit import fit, log_likelihood
from popbandits.gp._kernel import FADED, Kernel, Theta
from popbandits.gp._noise import noise_pattern
from popbandits.gp._parameters import Priors, pack, unpack
from popbandits.gp._posterior import Posterior
from popbandits.gp._rows import Rows
from popbandits.gp._scale import standardise
from popbandits.gp._surprise import surprise
from popbandits.gp._threads import one_blas_thread
from popbandits.gp._window import block_length

__all__ = [
    "FADED",
    "Kernel",
    "Posterior",
    "Priors",
    "Rows",
    "Theta",
    "block_length",
    "fit",
    "log_likelihood",
    "noise_pattern",
    "one_blas_thread",
    "pack",
    "standardise",
    "surprise",
    "unpack",
]
