"""Rows of unit length in fixed point, so that no sum depends on its order.

A row's values become integers: ``value / |row| * 2**23``, rounded. The dot product of two such rows
is an exact integer near 2**46 at most, in float64 as in int64, so every backend gets the same one
whatever its order of summation. `docs/method/exactness.md` says why the scales are these; those
that the kernels need too come from `swnn_kernels.records`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.records import COS_SCALE, FRACTION_BITS, MAGNITUDE_SCALE, VOTE_SCALE
from swnn_xp.rows.records import QuantisedRows, ValueRows, slice_rows

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
