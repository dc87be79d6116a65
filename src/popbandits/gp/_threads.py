"""One BLAS thread while the GP computes.

Its matrices are small: more threads gain nothing, and where agents in training keep the cores busy they wait for one
another most of the time. And a sum's last digits depend on how many threads share it: with one, a decision is the same
whatever the number of cores.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_LOCK = threading.Lock()  # two that overlap would restore one another's limit


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread in this process, for as long as the context lasts."""
    with _LOCK, _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> Any:
    import scipy.linalg.lapack  # noqa: F401 - brings a BLAS of its own, and only what is loaded is found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
