"""Any host matrix becomes canonical sparse rows, or a clear error; and these, rows in fixed point.

Canonical: features ascend within a row, none twice (repeats are summed in float64, in the order
they are stored), no zeros, all values finite. The caller's data is never changed.

Quantised: unit length, and integer values, ``value / |row| * 2**23`` rounded. The dot product of
two such rows is an exact integer near 2**46 at most, in float64 as in int64, so every backend gets
the same one whatever its order of summation. `docs/method/exactness.md` says why the scales are
these; those that the kernels need too come from `swnn_kernels.records`.

The functions ``require_...`` use the array API only: `swnn_xp.rows.on_device`, which does the same
on any device, calls them too, so that checks and messages are the same. Those for arrays from files
(``untrusted_...``, ``check_...``) look at every number that compiled code would use as an address.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace
from numpy.typing import NDArray

from swnn_kernels.records import COS_SCALE, FRACTION_BITS, MAGNITUDE_SCALE, VOTE_SCALE
from swnn_xp.rows.records import (
    VALUE_DTYPES,
    Array,
    LabelRows,
    QuantisedRows,
    ValueRows,
    pointers_of_sizes,
    slice_rows,
)

MAX_COLUMNS = 2**31 - 1

RowOf = Callable[[int], int]
"""Turns the number of a stored entry into the number of its row."""


def require_matrix(ndim: int, name: str) -> None:
    """Refuse what is not two-dimensional."""
    if ndim != 2:
        raise ValueError(
            f"{name} must be 2-D (rows x columns), got {ndim}-D. "
            "Reshape your data: a single row is [row]"
        )


def require_columns(n_columns: int, name: str) -> None:
    """Refuse more columns than int32 can number."""
    if n_columns > MAX_COLUMNS:
        raise ValueError(f"{name}: {n_columns} columns are more than the 2**31 - 1 supported")


def require_real(is_real: bool, dtype: object, name: str) -> None:
    """Refuse complex numbers, texts and whatever else is not a real number."""
    if "complex" in str(dtype):
        raise ValueError(f"{name}: Complex data not supported, got dtype {dtype}")
    if not is_real:
        raise ValueError(f"{name}: values must be real numbers, got dtype {dtype}")


def require_in_range(columns: Array, n_columns: int, row_of: RowOf, name: str) -> None:
    """Refuse columns outside the matrix."""
    xp = array_namespace(columns)
    if not columns.shape[0] or (int(xp.min(columns)) >= 0 and int(xp.max(columns)) < n_columns):
        return
    at = _first(xp, (columns < 0) | (columns >= n_columns))
    raise ValueError(
        f"{name}: row {row_of(at)} has column {int(columns[at])}, outside 0..{n_columns - 1}"
    )


def require_finite(columns: Array, values: Array, row_of: RowOf, name: str) -> None:
    """Refuse NaN and infinity."""
    xp = array_namespace(values)
    finite = xp.isfinite(values)
    if not bool(xp.all(finite)):
        at = _first(xp, ~finite)
        raise ValueError(f"{name}: {entry(columns, row_of, at)} is {_shown(values[at])}")


def entry(columns: Array, row_of: RowOf, at: int) -> str:
    """Name a stored entry by its row and column."""
    return f"row {row_of(at)}, column {int(columns[at])}"


def _shown(value: Array) -> str:
    """NaN and infinity as scikit-learn writes them."""
    return {"nan": "NaN"}.get(str(float(value)), str(float(value)))


def _first(xp: Array, marked: Array) -> int:
    return int(xp.argmax(xp.astype(marked, xp.int8)))


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


def check_dtypes(what: str, arrays: Any, dtypes: Mapping[str, type]) -> None:
    """Raise ValueError unless attributes are arrays of one dimension with these dtypes."""
    for name, dtype in dtypes.items():
        array = getattr(arrays, name)
        if array.dtype != dtype or array.ndim != 1:
            raise ValueError(f"{what} {name} must be a row of {dtype.__name__}")


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


__all__ = [
    "DOT_SCALE",
    "LARGEST_QUANTISED",
    "MAGNITUDE_SCALE",
    "QUANTISED_BITS",
    "QUANTISED_SCALE",
    "WEIGHT_SCALE",
    "WORD_BITS",
]

QUANTISED_BITS = FRACTION_BITS
"""A unit row's value is stored as the integer nearest to itself times ``2**23``."""

QUANTISED_SCALE = 2.0**QUANTISED_BITS

LARGEST_QUANTISED = 2**QUANTISED_BITS
"""No quantised value is larger in magnitude."""

WORD_BITS = 24
"""Squares are summed in two words of this many bits, so that no row is too long for int64."""

DOT_SCALE = COS_SCALE
"""Turns the dot product of two quantised rows into their cosine."""

WEIGHT_SCALE = VOTE_SCALE
"""The weight of a vote is stored as the integer nearest to itself times ``2**40``."""


_LOW_WORD = (1 << WORD_BITS) - 1
_CHUNK = 1 << 22  # non-zeros handled at a time: bounds the temporaries to about 100 MB


def quantise_rows(
    rows: ValueRows, feature_weights: NDArray[np.float64] | None = None
) -> QuantisedRows:
    """Scale canonical rows to unit length in fixed point.

    With feature weights, a value becomes ``value / largest magnitude of its row * weight`` first:
    in this order nothing can under- or overflow.

    Examples
    --------
    >>> from swnn_xp.rows.canonical import canonical_rows
    >>> quantise_rows(canonical_rows([[3.0, 4.0]])).quantised.tolist()
    [5033165, 6710886]
    """
    quantised = np.empty(rows.values.size, np.int32)
    for first, last in _row_chunks(rows.indptr):
        chunk = slice_rows(rows, first, last)
        start, stop = rows.indptr[first], rows.indptr[last]
        values = chunk.values
        if feature_weights is not None:
            values = _weighted(chunk, feature_weights[chunk.indices])
        quantised[start:stop] = _quantised(chunk.indptr, values)
    return QuantisedRows(rows.indptr, rows.indices, quantised, rows.n_features)


def _weighted(rows: ValueRows, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values over the largest magnitude of their row, times their weights."""
    sizes = np.diff(rows.indptr)
    sizes = sizes[sizes > 0]
    if not sizes.size:
        return rows.values
    largest = np.maximum.reduceat(np.abs(rows.values), np.cumsum(sizes) - sizes)
    weighted: NDArray[np.float64] = rows.values / np.repeat(largest, sizes) * weights
    return weighted


def _quantised(indptr: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    sizes = np.diff(indptr)
    sizes = sizes[sizes > 0]  # reduceat has no notion of an empty row
    starts = np.cumsum(sizes) - sizes
    if not sizes.size:
        return values
    largest = np.maximum.reduceat(np.abs(values), starts)
    scaled = np.rint(values / np.repeat(largest, sizes) * MAGNITUDE_SCALE)
    squares = scaled.astype(np.int64) ** 2
    high = np.add.reduceat(squares >> WORD_BITS, starts)
    low = np.add.reduceat(squares & _LOW_WORD, starts)
    high += low >> WORD_BITS
    low &= _LOW_WORD
    # high * 2**24 is exact in float64, so the sum is N rounded once, like an int64 N converted.
    norm = np.sqrt(high.astype(np.float64) * 2.0**WORD_BITS + low)
    return np.rint(scaled / np.repeat(norm, sizes) * QUANTISED_SCALE)


def _row_chunks(indptr: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Split rows into runs of about ``_CHUNK`` non-zeros."""
    n_rows = indptr.size - 1
    marks = np.searchsorted(indptr, np.arange(_CHUNK, indptr[-1] + _CHUNK, _CHUNK), side="left")
    bounds = np.unique(np.concatenate([[0], np.minimum(marks, n_rows), [n_rows]]))
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
