"""The records of arrays that kernels take: numba sees each as a plain tuple."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Lists(NamedTuple):
    """An inverted list of rows for every feature."""

    starts: np.ndarray  # int64, (n_features + 1,)
    rows: np.ndarray  # uint32, (nnz,), ascending in a list
    units: np.ndarray  # int32, (nnz,)


class Labels(NamedTuple):
    """The labels of every row."""

    starts: np.ndarray  # int64, (n_rows + 1,)
    ids: np.ndarray  # int32, (nnz,)


class Work(NamedTuple):
    """Buffers of one thread; between queries the accumulators hold zeros."""

    values: np.ndarray  # float64: the query's values before they become units
    indices: np.ndarray  # int32: the query's features
    units: np.ndarray  # int32: and their units
    acc: np.ndarray  # int64, (n_rows,): dot * 2**16 + overlap
    overlaps: np.ndarray  # int32, (n_rows,) where overlaps may not fit 16 bits, else empty
    sims: np.ndarray  # float64: the neighbours found
    rows: np.ndarray  # int64
    keys: np.ndarray  # int64, a power of two: hash table of labels
    sums: np.ndarray  # int64
    best_sums: np.ndarray  # int64: the best labels
    best_labels: np.ndarray  # int64


def frozen(array: np.ndarray) -> np.ndarray:
    """Make a read-only plain view: one type for numba, whether built here or mapped from a file."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view
