"""JAX set up for one core: one thread a process, and compiled code kept between processes.

A worker that finds its code compiled makes its first update sooner. The cache is the user's own, under ~/.cache (or
XDG_CACHE_HOME), one folder for each kind of processor: code compiled for one can crash on another.
"""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import hashlib
import platform
from pathlib import Path

from popbandits._errors import TrainableError
from popbandits.workloads._cache import user_cache

try:
    import jax
    import jax.numpy as jnp
    import optax
except ModuleNotFoundError as missing:
    raise TrainableError(
        f"the paper's tasks need {missing.name}; install it with: pip install 'popbandits[rl]'"
    ) from None


def _processor() -> str:
    flags = [line for line in _cpuinfo().splitlines() if line.startswith(("flags", "Features", "model name"))][:2]
    return hashlib.sha256("\n".join([platform.machine(), *flags]).encode()).hexdigest()[:12]


def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()


jax.config.update("jax_compilation_cache_dir", str(user_cache() / "compiled" / _processor()))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
# On few threads, calls that return before they are done can wait for one another for ever; one core gains nothing.
jax.config.update("jax_cpu_enable_async_dispatch", False)

__all__ = ["jax", "jnp", "optax"]
