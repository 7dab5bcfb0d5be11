"""Canonical quantised rows made where the data lives, by the array API; no copy to the host.

The twin of `swnn_xp.rows.canonical` for arrays of any namespace on any
device, with the same bits and the same errors. Three scalars cross to the host: the number of
entries, whether they are canonical, and the longest row; more where they are not.
"""

from __future__ import annotations

from typing import NamedTuple

from array_api_compat import array_namespace, device

from swnn_xp.rows import canonical as checks
from swnn_xp.rows.canonical import MAGNITUDE_SCALE, QUANTISED_SCALE, WORD_BITS
from swnn_xp.rows.records import Array, QuantisedRows, ValueRows

_CHUNK = 1 << 22  # non-zeros handled at a time: bounds the temporaries to about 300 MB


class Entries(NamedTuple):
    """Stored entries of a matrix, row after row; columns in any order, repeats allowed."""

    at_row: Array  # int64, ascending
    columns: Array  # int64
    values: Array  # float64
    shape: tuple[int, int]


def dense_entries(X: Array, name: str) -> Entries:
    """Entries of a dense matrix that are not 0 (NaN is one of them).

    Examples
    --------
    >>> import numpy as np
    >>> dense_entries(np.asarray([[0.0, 2.5], [0.0, 0.0]]), "X").columns.tolist()
    [1]
    """
    xp = array_namespace(X)
    checks.require_matrix(X.ndim, name)
    require_real(X, name)
    values = xp.astype(X, xp.float64)
    filled = values != 0
    at_row, columns = xp.nonzero(filled)
    shape = int(X.shape[0]), int(X.shape[1])
    return Entries(xp.astype(at_row, xp.int64), xp.astype(columns, xp.int64), values[filled], shape)


def compressed_entries(
    indptr: Array, columns: Array, values: Array, shape: tuple[int, int], name: str
) -> Entries:
    """Entries of a matrix in compressed rows."""
    xp = array_namespace(values)
    require_real(values, name)
    indptr = xp.astype(indptr, xp.int64)
    # CSR allows room behind the last row; it holds nothing of the matrix.
    stored = int(indptr[-1])
    columns, values = columns[:stored], values[:stored]
    return Entries(
        _row_numbers(indptr, stored),
        xp.astype(columns, xp.int64),
        xp.astype(values, xp.float64),
        shape,
    )


def canonical_entries(entries: Entries, name: str) -> ValueRows:
    """Bring entries to canonical rows: columns ascend in a row, without repeats and zeros."""
    at_row, columns, values = _canonical(entries, name)
    xp = array_namespace(values)
    rows = xp.arange(entries.shape[0] + 1, dtype=xp.int64, device=device(values))
    indptr = xp.astype(xp.searchsorted(at_row, rows), xp.int64)
    return ValueRows(indptr, xp.astype(columns, xp.int32), values, entries.shape[1])


def quantise_on_device(rows: ValueRows, feature_weights: Array | None = None) -> QuantisedRows:
    """Scale canonical rows to unit length in fixed point, as `swnn_xp.rows.canonical` does.

    Examples
    --------
    >>> import numpy as np
    >>> rows = canonical_entries(dense_entries(np.asarray([[3.0, 4.0]]), "X"), "X")
    >>> quantise_on_device(rows).quantised.tolist()
    [5033165, 6710886]
    """
    indptr, columns, values, n_features = rows
    xp = array_namespace(values)
    at_row = _row_numbers(indptr, values.shape[0])
    weights = None if feature_weights is None else xp.take(feature_weights, columns)
    chunks = []
    for first, last, start, stop in _row_chunks(xp, indptr, values.shape[0]):
        row, pointers = at_row[start:stop] - first, indptr[first : last + 1] - start
        chunk = values[start:stop]
        if weights is not None:
            chunk = chunk / xp.take(_largest(chunk, pointers, row), row) * weights[start:stop]
        chunks.append(_quantised(row, pointers, chunk))
    quantised = xp.concat(chunks) if chunks else xp.astype(values, xp.int32)
    return QuantisedRows(indptr, columns, quantised, n_features)


def require_real(values: Array, name: str) -> None:
    """Refuse complex numbers and anything else that is not a real number."""
    xp = array_namespace(values)
    is_real = xp.isdtype(values.dtype, ("bool", "integral", "real floating"))
    checks.require_real(is_real, values.dtype, name)


def _canonical(entries: Entries, name: str) -> tuple[Array, Array, Array]:
    """Sort columns within rows, sum repeats in stored order, drop zeros."""
    at_row, columns, values, (_, width) = entries
    xp = array_namespace(values)
    checks.require_columns(width, name)
    if values.shape[0] == 0:
        return at_row, columns, values
    key = at_row * width + columns
    good = (columns >= 0) & (columns < width) & xp.isfinite(values) & (values != 0)
    if bool(xp.all(good) & xp.all(key[1:] > key[:-1])):  # as it is, after one look
        return at_row, columns, values
    checks.require_in_range(columns, width, _row_of(at_row), name)
    checks.require_finite(columns, values, _row_of(at_row), name)
    if not bool(xp.all(key[1:] > key[:-1])):
        order = xp.argsort(key, stable=True)
        key, values = _sum_repeats(xp, xp.take(key, order), xp.take(values, order))
        at_row, columns = key // width, key % width
        checks.require_finite(columns, values, _row_of(at_row), name)
    filled = values != 0
    return at_row[filled], columns[filled], values[filled]


def _sum_repeats(xp: Array, key: Array, values: Array) -> tuple[Array, Array]:
    """Add the values of equal keys one after another, so that the sum has the host's bits."""
    one = xp.ones((1,), dtype=xp.bool, device=device(key))
    starts = xp.nonzero(xp.concat([one, key[1:] != key[:-1]]))[0]
    ends = xp.concat([starts[1:], xp.zeros_like(starts[:1]) + key.shape[0]])
    sums = xp.take(values, starts)
    for step in range(1, int(xp.max(ends - starts))):
        entry = starts + step
        more = entry < ends
        added = xp.take(values, xp.where(more, entry, starts))
        sums = xp.where(more, sums + added, sums)
    return xp.take(key, starts), sums


def _quantised(row: Array, indptr: Array, values: Array) -> Array:
    """Quantised values of the non-zeros of some rows; `row` and `indptr` count from 0."""
    xp, low_word = array_namespace(values), (1 << WORD_BITS) - 1
    scaled = xp.round(values / xp.take(_largest(values, indptr, row), row) * MAGNITUDE_SCALE)
    squares = xp.astype(scaled, xp.int64)
    squares = squares * squares
    # Two words, so that no row is too long for int64; see `swnn_xp.rows.canonical`.
    high = _row_sums(squares >> WORD_BITS, indptr)
    low = _row_sums(squares & low_word, indptr)
    high, low = high + (low >> WORD_BITS), low & low_word
    total = xp.astype(high, xp.float64) * 2.0**WORD_BITS + xp.astype(low, xp.float64)
    return xp.astype(xp.round(scaled / xp.take(xp.sqrt(total), row) * QUANTISED_SCALE), xp.int32)


def _largest(values: Array, indptr: Array, row: Array) -> Array:
    """Largest magnitude of each row; anything for an empty row.

    The array API has no reduction over runs. Here every entry takes the larger of itself and the
    entry 1, 2, 4, ... before it in its row, until the row's last entry has seen them all.
    """
    xp = array_namespace(values)
    largest = xp.abs(values)
    sizes = indptr[1:] - indptr[:-1]
    entry = xp.arange(values.shape[0], dtype=xp.int64, device=device(values))
    within = entry - xp.take(indptr, row)
    longest, reach = int(xp.max(sizes)), 1
    while reach < longest:
        before = xp.take(largest, xp.where(within >= reach, entry - reach, entry))
        largest = xp.where(before > largest, before, largest)
        reach *= 2
    ends = indptr[1:] - 1
    return xp.take(largest, xp.where(ends < 0, xp.zeros_like(ends), ends))


def _row_sums(values: Array, indptr: Array) -> Array:
    xp = array_namespace(values)
    running = xp.cumulative_sum(values, dtype=xp.int64, include_initial=True)
    return xp.take(running, indptr[1:]) - xp.take(running, indptr[:-1])


def _row_numbers(indptr: Array, total: int) -> Array:
    """Row of each entry; unlike `repeat`, it does not wait for the device."""
    xp = array_namespace(indptr)
    entry = xp.arange(total, dtype=xp.int64, device=device(indptr))
    return xp.astype(xp.searchsorted(indptr, entry, side="right"), xp.int64) - 1


def _row_chunks(xp: Array, indptr: Array, total: int) -> list[tuple[int, int, int, int]]:
    """Runs of rows with about ``_CHUNK`` non-zeros: first, last, and where their entries are."""
    n_rows = int(indptr.shape[0]) - 1
    chunks, first, start = [], 0, 0
    while start < total:
        if total - start <= _CHUNK:
            last, stop = n_rows, total
        else:
            limit = xp.asarray([start + _CHUNK], dtype=xp.int64, device=device(indptr))
            last = max(first + 1, int(xp.searchsorted(indptr, limit, side="right")[0]) - 1)
            stop = int(indptr[last])
        if stop > start:
            chunks.append((first, last, start, stop))
        first, start = last, stop
    return chunks


def _row_of(at_row: Array) -> checks.RowOf:
    return lambda at: int(at_row[at])
