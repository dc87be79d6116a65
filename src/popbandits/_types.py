"""Names for the types that appear in most signatures."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Hparams = Mapping[str, Any]
"""Name to value, in the user's own units, nested as the space is nested."""
