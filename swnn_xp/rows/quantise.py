"""Rows of unit length in fixed point, so that no sum depends on its order.

A row's values become integers, ``value / |row| * 2**23``, rounded. Products of two rows then are
exact integers near 2**46 at most, the same on every backend, in float64 as in int64, whatever the
order of summation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swnn_xp.rows.records import QuantisedRows, ValueRows

UNIT_BITS = 23
DOT_SCALE = 2.0 ** (-2 * UNIT_BITS)
"""Turns the dot product of two rows of quantised into their cosine."""

_SCALED = 2.0**22  # first rounding: the row's largest magnitude becomes this
_LOW_BITS = 24  # squares are summed in two words, so that no row is too long for int64
_CHUNK = 1 << 22  # non-zeros handled at a time: bounds the temporaries to about 100 MB


def quantise_rows(rows: ValueRows) -> QuantisedRows:
    """Scale canonical rows to unit length in fixed point.

    Examples
    --------
    >>> from swnn_xp.rows.canonical import canonical_rows
    >>> quantise_rows(canonical_rows([[3.0, 4.0]])).quantised.tolist()
    [5033165, 6710886]
    """
    quantised = np.empty(rows.values.size, np.int32)
    for first, last in _row_chunks(rows.indptr):
        start, stop = rows.indptr[first], rows.indptr[last]
        indptr = rows.indptr[first : last + 1] - start
        quantised[start:stop] = _units(indptr, rows.values[start:stop])
    return QuantisedRows(rows.indptr, rows.indices, quantised, rows.n_features)


def _units(indptr: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    sizes = np.diff(indptr)
    sizes = sizes[sizes > 0]  # reduceat has no notion of an empty row
    starts = np.cumsum(sizes) - sizes
    if not sizes.size:
        return values
    largest = np.maximum.reduceat(np.abs(values), starts)
    scaled = np.rint(values / np.repeat(largest, sizes) * _SCALED)
    squares = scaled.astype(np.int64) ** 2
    high = np.add.reduceat(squares >> _LOW_BITS, starts)
    low = np.add.reduceat(squares & ((1 << _LOW_BITS) - 1), starts)
    high += low >> _LOW_BITS
    low &= (1 << _LOW_BITS) - 1
    # high * 2**24 is exact in float64, so the sum is N rounded once, like an int64 N converted.
    norm = np.sqrt(high.astype(np.float64) * 2.0**_LOW_BITS + low)
    return np.rint(scaled / np.repeat(norm, sizes) * 2.0**UNIT_BITS)


def _row_chunks(indptr: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Split rows into runs of about ``_CHUNK`` non-zeros."""
    n_rows = indptr.size - 1
    marks = np.searchsorted(indptr, np.arange(_CHUNK, indptr[-1] + _CHUNK, _CHUNK), side="left")
    bounds = np.unique(np.concatenate([[0], np.minimum(marks, n_rows), [n_rows]]))
    return list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
