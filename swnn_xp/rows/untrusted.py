"""Checks of arrays that come from a file, before compiled code uses their numbers as addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swnn_xp.rows.canonical import is_ascending
from swnn_xp.rows.fixed_point import LARGEST_QUANTISED
from swnn_xp.rows.records import LabelRows, QuantisedRows

_BLOCK = 1 << 20  # entries checked at a time, so that the temporaries stay small


def untrusted_rows(arrays: Mapping[str, Any], n_features: int) -> QuantisedRows:
    """Training rows out of a file, or a ValueError that says what is wrong with them.

    Examples
    --------
    >>> arrays = {"indptr": np.asarray([0, 1]), "indices": np.asarray([7], np.int32),
    ...           "quantised": np.asarray([2**23], np.int32)}
    >>> untrusted_rows(arrays, 8).n_rows
    1
    >>> untrusted_rows(arrays, 7)
    Traceback (most recent call last):
    ValueError: indices must lie in 0..6
    """
    indptr, indices = arrays["indptr"], arrays["indices"]
    quantised = arrays["quantised"]
    check_pointers("indptr", indptr, indices, "indices")
    check_range("indices", indices, 0, n_features - 1)
    if quantised.dtype != np.int32 or quantised.shape != indices.shape:
        raise ValueError("quantised must be one int32 for each index")
    check_range("quantised", quantised, -LARGEST_QUANTISED, LARGEST_QUANTISED)
    if not is_ascending(indptr, indices):
        raise ValueError("indices must ascend in each row")
    return QuantisedRows(indptr, indices, quantised, n_features)


def untrusted_labels(indptr: Any, indices: Any, n_labels: int, n_rows: int) -> LabelRows:
    """Label rows out of a file; `check_label_ids` must check their ids before they vote."""
    check_pointers("labels_indptr", indptr, indices, "labels_indices")
    if indptr.size != n_rows + 1:
        raise ValueError(f"there are labels of {indptr.size - 1} rows for {n_rows} rows")
    return LabelRows(indptr, indices, n_labels)


def check_label_ids(labels: LabelRows) -> None:
    """Raise ValueError unless all label ids are below the number of labels."""
    check_range("labels_indices", labels.indices, 0, labels.n_labels - 1)


def check_pointers(name: str, indptr: NDArray[Any], indices: NDArray[Any], what: str) -> None:
    """Raise ValueError unless pointers rise from 0 to the number of entries."""
    if indptr.dtype != np.int64 or indptr.ndim != 1 or not indptr.size:
        raise ValueError(f"{name} must be a row of int64")
    if indices.dtype != np.int32 or indices.ndim != 1:
        raise ValueError(f"{what} must be a row of int32")
    if indptr[0] != 0 or indptr[-1] != indices.size or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError(f"{name} must rise from 0 to {indices.size}")


def check_range(name: str, values: NDArray[Any], low: int, high: int) -> None:
    """Raise ValueError unless all values lie in low..high."""
    for start in range(0, values.size, _BLOCK):
        block = values[start : start + _BLOCK]
        if block.min() < low or block.max() > high:
            raise ValueError(f"{name} must lie in {low}..{high}")
