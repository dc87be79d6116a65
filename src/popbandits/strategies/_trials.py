"""Trials: what ASHA and BayesOpt call an agent's life from fresh weights on. An agent may live several."""

import numpy as np

from popbandits._types import Ints
from popbandits.population import History


def ages(history: History) -> Ints:
    """Return for each row how many intervals its trial had trained when it reported, from 1. Length n."""
    n = len(history)
    order = np.lexsort((np.arange(n), history.agent))
    position = np.arange(n)
    began = np.maximum.accumulate(np.where(history.donor[order] < 0, position, 0))
    age = np.empty(n, dtype=np.int64)
    age[order] = position - began + 1
    return age


def age_of(history: History, row: int) -> int:
    """Return the age of one row's trial, without looking at the others'."""
    age = 1
    while history.before[row] >= 0:
        row = int(history.before[row])
        age += 1
    return age
