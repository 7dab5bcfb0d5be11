"""Rare labels first: what is added to the score of a label because few rows have it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.learn.rank import SCORE_BITS
from swnn_xp._checks import check_exponent
from swnn_xp.metrics import propensities_of_counts

LARGEST = 1000.0
"""Largest weight of rarity: far beyond use, and no score overflows."""

# Fewer than scores have: the last bits of NumPy's logarithm differ between processors and versions.
_BITS = 20


def check_rare_labels(weight: Any) -> None:
    """Raise ValueError unless it is a weight of rarity."""
    check_exponent(weight, "rare_labels")
    if weight > LARGEST:
        raise ValueError(f"rare_labels must be at most {LARGEST:g}, got {weight}")


def rarity(counts: NDArray[np.int64], n_rows: int, weight: float) -> NDArray[np.int64]:
    """Integers to add to scores: minus the logarithm of each label's propensity, times a weight.

    Parameters
    ----------
    counts : array of int64, (n_labels,)
        Rows of each label.
    n_rows : int
        Rows of all labels.
    weight : float
        0 to `LARGEST`; 0 adds nothing.

    Examples
    --------
    >>> (rarity(np.asarray([9, 1]), 9, 0.25) / 2**SCORE_BITS).round(3).tolist()
    [0.109, 0.197]
    """
    likely = propensities_of_counts(counts, max(n_rows, 3))  # of fewer rows there are none
    return np.rint(np.log(likely) * (-weight * 2.0**_BITS)).astype(np.int64) << (SCORE_BITS - _BITS)
