"""Term counts to tf-idf."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array


def idf_weights(train: Any) -> Any:
    """Inverse document frequency of each column, smoothed: ln((1 + n) / (1 + df)) + 1.

    Parameters
    ----------
    train : csr_array
        Term counts without stored zeros.

    Returns
    -------
    ndarray
        One weight per column, float64.
    """
    n_rows, n_columns = train.shape
    df = np.bincount(train.indices, minlength=n_columns)
    return np.log((1 + n_rows) / (1 + df)) + 1


def tfidf(counts: Any, idf: Any) -> Any:
    """(1 + ln count) * idf at every stored entry; rows are not normalised.

    Parameters
    ----------
    counts : csr_array
        Term counts without stored zeros.
    idf : ndarray
        One weight per column.

    Returns
    -------
    csr_array
        float32, of the same structure.
    """
    values = (1 + np.log(counts.data)) * idf[counts.indices]
    return csr_array((values.astype(np.float32), counts.indices, counts.indptr), counts.shape)
