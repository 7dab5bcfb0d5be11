"""What exact neighbours are: the method's fixed-point arithmetic in plain NumPy and SciPy.

It shares no code with the library; `track_agreement` counts how often a backend gives these bits.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def units(X):
    """Rows of unit length as integers times 2**-23."""
    X = sp.csr_array(X, dtype=np.float64)
    at = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    largest = np.zeros(X.shape[0])
    np.maximum.at(largest, at, np.abs(X.data))
    scaled = np.rint(X.data / largest[at] * 2.0**22)
    squares = np.zeros(X.shape[0], dtype=np.int64)
    np.add.at(squares, at, scaled.astype(np.int64) ** 2)
    values = np.rint(scaled / np.sqrt(squares.astype(np.float64))[at] * 2.0**23)
    return sp.csr_array((values, X.indices, X.indptr), shape=X.shape)


def neighbours(X_train, X_test, n_neighbors):
    """Ids and similarities (beta = 1) of the best rows, ties to the smaller id."""
    train, test = units(X_train), units(X_test)
    dots = (test @ train.T).toarray()
    ones = [
        sp.csr_array((np.ones(m.nnz), m.indices, m.indptr), shape=m.shape) for m in (train, test)
    ]
    overlap = (ones[1] @ ones[0].T).toarray()
    sizes = np.diff(test.indptr)[:, None] + np.diff(train.indptr)[None, :]
    sims = dots * 2.0**-46 * (overlap / (sizes - overlap))
    sims = np.maximum(sims, 0.0)
    ids = np.argsort(-sims, axis=1, kind="stable")[:, :n_neighbors]
    best = np.take_along_axis(sims, ids, axis=1)
    return np.where(best > 0, ids, -1), best
