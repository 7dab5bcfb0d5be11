"""Feature weights: features that many label models use count more in the search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.learn.descent import SQUARES_SCALE

SMALLEST = 0.001
"""No feature gets less: it stays in the support, and Jaccard's index what it was."""


def feature_weights(squares: NDArray[np.int64], features: NDArray[np.int32]) -> NDArray[np.float64]:
    """Weight of each feature: root of its squared weights over its rows; 1 in the mean.

    Parameters
    ----------
    squares : array of int64, (n_features,)
        Squared weights of each feature, added up over all labels, times ``SQUARES_SCALE``.
    features : array of int32, (nnz,)
        Features of all rows that the models were trained on.

    Examples
    --------
    >>> squares = (np.asarray([8.0, 1.0, 0.0]) * SQUARES_SCALE).astype(np.int64)
    >>> feature_weights(squares, np.asarray([0, 0, 1], np.int32)).round(3).tolist()
    [1.333, 0.667, 0.001]
    """
    rows = np.bincount(features, minlength=squares.size)
    weights = np.sqrt(squares / SQUARES_SCALE / np.maximum(rows, 1))
    used = weights > 0
    if not used.any():
        return np.ones(squares.size)
    return np.maximum(weights / weights[used].mean(), SMALLEST)
