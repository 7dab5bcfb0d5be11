"""Any host matrix becomes canonical sparse rows, or a clear error.

Canonical: features ascending within a row, none twice (repeats are summed in float64, in the
order they are stored), no zeros, all finite. The caller's data is never changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from swnn_xp.rows.records import LabelRows, ValueRows


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
    _require_finite(indptr, indices, values, name)
    if not is_ascending(indptr, indices):
        indptr, indices, values = _sum_repeats(indptr, indices, values)
        _require_finite(indptr, indices, values, name)
    indptr, indices, values = _without_zeros(indptr, indices, values)
    return ValueRows(indptr, indices, values, width)


def label_rows(Y: Any, name: str = "Y") -> LabelRows:
    """Bring a label matrix to canonical rows: every non-zero entry is a label, once.

    Examples
    --------
    >>> label_rows([[0, 1, 1]]).indices.tolist()
    [1, 2]
    """
    indptr, indices, values, width = _stored_entries(Y, name)
    _require_finite(indptr, indices, values, name)
    if values.size and values.min() < 0:
        at = int(np.argmin(values))
        where = _describe(indptr, indices, at)
        raise ValueError(f"{name}: {where} is {values[at]:g}; a label is 0 (absent) or 1 (present)")
    if not is_ascending(indptr, indices):
        indptr, indices, values = _sum_repeats(indptr, indices, values)
    indptr, indices, _ = _without_zeros(indptr, indices, values)
    return LabelRows(indptr, indices, width)


def to_csr(indptr: Any, indices: Any, data: Any, shape: tuple[int, int]) -> sp.csr_array:
    """Wrap arrays as a scipy CSR array, with the one index dtype that scipy asks for."""
    wide = indptr[-1] > np.iinfo(np.int32).max or max(shape) > np.iinfo(np.int32).max
    dtype = np.int64 if wide else np.int32
    return sp.csr_array((data, indices.astype(dtype, copy=False), indptr.astype(dtype)), shape)


def _stored_entries(X: Any, name: str) -> tuple[Any, Any, NDArray[np.float64], int]:
    """Return indptr, indices, float64 values as they are stored, and the width."""
    if sp.issparse(X):
        _require_matrix(X.ndim, name)
        _require_real(X.dtype, name)
        rows = X if X.format == "csr" else _rows_of_coordinates(X.tocoo())
        if isinstance(rows, tuple):
            indptr, indices, data = rows
        else:
            indptr, indices, data = rows.indptr, rows.indices, rows.data
            # Room behind the last row is legal in scipy's CSR and holds nothing of ours.
            indices, data = indices[: indptr[-1]], data[: indptr[-1]]
        shape = X.shape
    else:
        dense = np.asarray(X)
        _require_matrix(dense.ndim, name)
        _require_real(dense.dtype, name)
        dense = dense.astype(np.float64, copy=False)
        at_row, indices = np.nonzero(dense)
        data = dense[at_row, indices]
        indptr = _pointers(at_row, dense.shape[0])
        shape = dense.shape
    if shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"{name}: {shape[1]} columns are more than the 2**31 - 1 supported")
    _require_in_range(indptr, indices, shape[1], name)
    return (
        indptr.astype(np.int64, copy=False),
        indices.astype(np.int32, copy=False),
        data.astype(np.float64, copy=False),
        int(shape[1]),
    )


def _rows_of_coordinates(coo: Any) -> tuple[Any, Any, Any]:
    """CSR arrays of a COO matrix; entries of a row keep the order in which they are stored."""
    # scipy's own conversion would sum repeats in the input's dtype (int8 overflows).
    order = np.argsort(coo.row, kind="stable")
    return _pointers(coo.row, coo.shape[0]), coo.col[order], coo.data[order]


def _pointers(at_row: Any, n_rows: int) -> NDArray[np.int64]:
    indptr = np.zeros(n_rows + 1, np.int64)
    np.cumsum(np.bincount(at_row, minlength=n_rows), out=indptr[1:])
    return indptr


def _row_numbers(indptr: Any) -> NDArray[np.int64]:
    return np.repeat(np.arange(indptr.size - 1), np.diff(indptr))


def is_ascending(indptr: Any, indices: Any) -> bool:
    """Tell whether features strictly ascend in each row (scipy's own flags can be stale)."""
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


def _require_matrix(ndim: int, name: str) -> None:
    if ndim != 2:
        raise ValueError(
            f"{name} must be 2-D (rows x columns), got {ndim}-D; a single row is [row]"
        )


def _require_real(dtype: Any, name: str) -> None:
    if np.dtype(dtype).kind not in "buifO":
        raise ValueError(f"{name}: values must be real numbers, got dtype {dtype}")


def _require_in_range(indptr: Any, indices: Any, width: int, name: str) -> None:
    if indices.size and (indices.min() < 0 or indices.max() >= width):
        at = int(np.flatnonzero((indices < 0) | (indices >= width))[0])
        row = int(np.searchsorted(indptr, at, side="right")) - 1
        raise ValueError(f"{name}: row {row} has column {indices[at]}, outside 0..{width - 1}")


def _require_finite(indptr: Any, indices: Any, values: Any, name: str) -> None:
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"{name}: {_describe(indptr, indices, at)} is {values[at]}")


def _describe(indptr: Any, indices: Any, at: int) -> str:
    row = int(np.searchsorted(indptr, at, side="right")) - 1
    return f"row {row}, column {indices[at]}"
