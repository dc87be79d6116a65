import gc
import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def leave_nothing_open() -> Iterator[None]:
    """Collect what other packages leave open (an interrupted Tuner does) here, not in somebody else's test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()
