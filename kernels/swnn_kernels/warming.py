"""Compile every kernel once, so that later processes find them in the cache on disk."""

from __future__ import annotations

import numpy as np

from swnn_kernels.batch import rank, search
from swnn_kernels.fixed_point import normalise
from swnn_kernels.index import InvertedIndex
from swnn_kernels.opened import OpenedIndex
from swnn_kernels.session import Session


def warmup() -> None:
    """Fill numba's cache with all kernels; takes a minute or two the first time.

    Examples
    --------
    >>> warmup()
    """
    indptr = np.array([0, 2, 3])
    indices = np.array([0, 1, 1], dtype=np.int32)
    units = normalise(indptr, indices, np.ones(3))
    labels = np.arange(3), np.arange(2, dtype=np.int32)
    index = InvertedIndex.build(indptr, indices, units, 2, frequent=0.6, fewest=2)
    OpenedIndex.from_arrays(index.arrays()).admit(indices)
    index.check()
    index.rows()
    index.shared(0, indices[:2])
    for method in ("reference", "pruned"):
        search(index, indptr, indices, units, 1, 1.0, method=method)
        rank(index, *labels, indptr, indices, units, 1, 1.0, 1.0, 1, method=method)
        Session(index, *labels, 1, 1.0, 1.0, method=method).predict_one(indices[:2], np.ones(2), 1)
