"""The time-varying Gaussian process: kernel, fit, block length, posterior; each on its own."""

from popbandits.gp._fit import fit, log_likelihood
from popbandits.gp._kernel import Kernel, Theta
from popbandits.gp._parameters import Priors, pack, unpack
from popbandits.gp._posterior import Posterior
from popbandits.gp._rows import Rows
from popbandits.gp._scale import standardise
from popbandits.gp._threads import one_blas_thread
from popbandits.gp._window import block_length

__all__ = [
    "Kernel",
    "Posterior",
    "Priors",
    "Rows",
    "Theta",
    "block_length",
    "fit",
    "log_likelihood",
    "one_blas_thread",
    "pack",
    "standardise",
    "unpack",
]
