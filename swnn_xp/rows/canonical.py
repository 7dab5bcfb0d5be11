"""Any host matrix becomes canonical sparse rows, or a clear error.

Canonical: features ascending within a row, none twice (repeats are summed in float64, in the
order they are stored), no zeros, all finite. The caller's data is never changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from swnn_xp.rows.checks import (
    RowOf,
    entry,
    require_columns,
    require_finite,
    require_in_range,
    require_matrix,
    require_real,
)
from swnn_xp.rows.records import VALUE_DTYPES, LabelRows, ValueRows
from swnn_xp.rows.slicing import pointers_of_sizes


def canonical_rows(X: Any, name: str = "X") -> ValueRows:
    """Bring a matrix to canonical rows.

    Parameters
    ----------
    X : scipy sparse array or matrix of any format, or anything `numpy.asarray` makes 2-D
    name : str
        What error messages call the matrix.

    Returns
    -------
    ValueRows

    Examples
    --------
    >>> canonical_rows([[0, 2.5], [0, 0]]).indptr.tolist()
    [0, 1, 1]
    """
    indptr, indices, values, width = _stored_entries(X, name)
    require_finite(indices, values, _row_of(indptr), name)
    if not is_ascending(indptr, indices):
        indptr, indices, values = _sum_repeats(indptr, indices, values)
        require_finite(indices, values, _row_of(indptr), name)
    indptr, indices, values = _without_zeros(indptr, indices, values)
    return ValueRows(indptr, indices, values, width)


def label_rows(y: Any, name: str = "y") -> LabelRows:
    """Bring a 0/1 matrix of labels to canonical rows: every 1 is a label, once.

    Examples
    --------
    >>> label_rows([[0, 1, 1]]).indices.tolist()
    [1, 2]
    """
    indptr, indices, values, width = _stored_entries(y, name)
    require_finite(indices, values, _row_of(indptr), name)
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        at = int(np.argmax(wrong))
        where = entry(indices, _row_of(indptr), at)
        raise ValueError(
            f"{name}: {where} is {values[at]:g}; a label is 0 (absent) or 1 (present); "
            "give label numbers as sets: [{3, 7}, {2}]"
        )
    if not is_ascending(indptr, indices):
        indptr, indices, values = _sum_repeats(indptr, indices, values)
    indptr, indices, _ = _without_zeros(indptr, indices, values)
    return LabelRows(indptr, indices, width)


def to_csr(indptr: Any, indices: Any, data: Any, shape: tuple[int, int]) -> sp.csr_array:
    """Wrap arrays as a SciPy CSR array, which has one dtype for pointers and columns."""
    wide = indptr[-1] > np.iinfo(np.int32).max or max(shape) > np.iinfo(np.int32).max
    dtype = np.int64 if wide else np.int32
    return sp.csr_array((data, indices.astype(dtype, copy=False), indptr.astype(dtype)), shape)


def _stored_entries(X: Any, name: str) -> tuple[Any, Any, NDArray[np.float64], int]:
    """Return indptr, indices, float64 values as they are stored, and the width."""
    matrix: Any = X if sp.issparse(X) else np.asarray(X)
    require_matrix(matrix.ndim, name)
    require_real(np.dtype(matrix.dtype).kind in "buifO", matrix.dtype, name)
    if not sp.issparse(matrix):
        indptr, indices, data = _dense_entries(matrix)
    elif matrix.format == "csr":
        # SciPy allows room behind the last row; it holds nothing of the matrix.
        end = matrix.indptr[-1]
        indptr, indices, data = matrix.indptr, matrix.indices[:end], matrix.data[:end]
    else:
        indptr, indices, data = _coordinate_entries(matrix.tocoo())
    width = int(matrix.shape[1])
    require_columns(width, name)
    require_in_range(indices, width, _row_of(indptr), name)
    return (
        indptr.astype(np.int64, copy=False),
        indices.astype(np.int32, copy=False),
        data.astype(np.float64, copy=False),
        width,
    )


def _dense_entries(matrix: NDArray[Any]) -> tuple[Any, Any, Any]:
    values = matrix.astype(np.float64, copy=False)
    at_row, indices = np.nonzero(values)
    return _pointers(at_row, values.shape[0]), indices, values[at_row, indices]


def _coordinate_entries(coo: Any) -> tuple[Any, Any, Any]:
    """CSR arrays of a COO matrix; entries of a row keep the order in which they are stored."""
    # SciPy's own conversion would sum repeats in the input's dtype (int8 overflows).
    order = np.argsort(coo.row, kind="stable")
    return _pointers(coo.row, coo.shape[0]), coo.col[order], coo.data[order]


def _pointers(at_row: Any, n_rows: int) -> NDArray[np.int64]:
    return pointers_of_sizes(np.bincount(at_row, minlength=n_rows))


def _row_of(indptr: Any) -> RowOf:
    return lambda at: int(np.searchsorted(indptr, at, side="right")) - 1


def _row_numbers(indptr: Any) -> NDArray[np.int64]:
    return np.repeat(np.arange(indptr.size - 1), np.diff(indptr))


def is_ascending(indptr: Any, indices: Any) -> bool:
    """True if features strictly ascend in each row (SciPy's own flags can be stale)."""
    if indices.size < 2:
        return True
    ascends = indices[1:] > indices[:-1]
    starts = indptr[1:-1]
    ascends[starts[(starts > 0) & (starts < indices.size)] - 1] = True
    return bool(ascends.all())


def _sum_repeats(indptr: Any, indices: Any, values: Any) -> tuple[Any, Any, Any]:
    at_row = _row_numbers(indptr)
    order = np.lexsort((indices, at_row))  # stable: repeats stay in stored order
    at_row, indices, values = at_row[order], indices[order], values[order]
    first = np.ones(indices.size, bool)
    first[1:] = (indices[1:] != indices[:-1]) | (at_row[1:] != at_row[:-1])
    # bincount adds one value after another: the sum does not depend on the length of the input.
    with np.errstate(over="ignore"):
        sums = np.bincount(np.cumsum(first) - 1, weights=values)
    return _pointers(at_row[first], indptr.size - 1), indices[first], sums


def _without_zeros(indptr: Any, indices: Any, values: Any) -> tuple[Any, Any, Any]:
    keep = values != 0
    if keep.all():
        return indptr, indices, values
    kept_before = np.concatenate([[0], np.cumsum(keep)])
    return kept_before[indptr], indices[keep], values[keep]


def exact_values(values: NDArray[np.float64]) -> NDArray[Any]:
    """Store values in the smallest type that holds all of them exactly.

    Examples
    --------
    >>> [exact_values(np.asarray(values)).dtype.name for values in ([1.0, 2.0], [0.5], [0.1])]
    ['uint8', 'float32', 'float64']
    """
    for dtype in VALUE_DTYPES:
        with np.errstate(over="ignore", invalid="ignore"):
            small = values.astype(dtype)
        if np.array_equal(small, values):
            return small
    return values
