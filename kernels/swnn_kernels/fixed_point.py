"""The arithmetic of the method, to the bit: quantised rows, similarities and weights of votes.

Rows have unit length in fixed point, so dot products are exact integers. A similarity is
J**beta * cos in float64, one operation at a time in the method's order.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import inline, kernel
from swnn_kernels.records import (
    COS_SCALE,
    FRACTION_BITS,
    MAGNITUDE_SCALE,
    VOTE_SCALE,
    Bool,
    Float,
    Float64,
    Int,
    Int32,
    Int64,
)

_ONE = 2.0**FRACTION_BITS
_ONE_WORD = 2**19  # this many squares of 2**44 would overflow an int64
_LOW = 2**32 - 1


@inline
def quantise_row(values: Float64, start: Int, stop: Int, out: Int32, at: Int) -> Bool:
    """Quantise ``values[start:stop]`` into ``out[at:]``; return False if one is not finite."""
    largest = 0.0
    finite = True
    for p in range(start, stop):
        magnitude = abs(values[p])
        finite &= magnitude < np.inf
        largest = max(largest, magnitude)
    if not finite:
        return False
    high = np.int64(0)
    low = np.int64(0)
    for p in range(start, stop):
        scaled = np.int64(np.rint(values[p] / largest * MAGNITUDE_SCALE)) if largest > 0.0 else 0
        out[at + p - start] = scaled
        square = np.int64(scaled) * np.int64(scaled)
        if stop - start < _ONE_WORD:
            low += square
        else:
            high += square >> 32
            low += square & _LOW
    # Two exact float64 words and one rounding: the same as rounding the whole integer once.
    high += low >> 32
    low &= _LOW
    norm = np.sqrt(np.float64(high) * 2.0**32 + np.float64(low))
    for p in range(stop - start):
        if norm > 0.0:
            out[at + p] = np.int32(np.rint(out[at + p] / norm * _ONE))
    return True


@kernel
def _quantise(indptr: Int64, values: Float64, quantised: Int32) -> Int:
    """Quantise all rows; return the first one that holds a value that is not finite, or -1."""
    for row in range(indptr.size - 1):
        if not quantise_row(values, indptr[row], indptr[row + 1], quantised, indptr[row]):
            return row
    return -1


def quantise(indptr: np.ndarray, indices: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Bring sparse rows to unit length in fixed point.

    Parameters
    ----------
    indptr : array of int64, (n_rows + 1,)
        Where each row starts.
    indices : array, (nnz,)
        Features; only their number is used, since no step depends on the order.
    values : array of float64, (nnz,)
        Values without zeros.

    Returns
    -------
    array of int32, (nnz,)
        Unit values times 2**23, rounded.

    Examples
    --------
    >>> import numpy as np
    >>> quantise(np.array([0, 2]), np.array([0, 1]), np.array([3.0, 4.0])).tolist()
    [5033165, 6710886]
    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    indptr = np.ascontiguousarray(indptr, dtype=np.int64)
    if indices.shape != values.shape or (indptr.size and indptr[-1] != values.size):
        raise ValueError("indptr, indices and values do not fit together")
    quantised = np.empty(values.size, dtype=np.int32)
    row = _quantise(indptr, values, quantised)
    if row >= 0:
        raise ValueError(f"row {row} holds a value that is not finite")
    return quantised


@inline
def similarity(dot: Int, overlap: Int, query_size: Int, row_size: Int, beta: Float) -> Float:
    """Similarity of a row whose integer dot product and overlap with the query are known."""
    cos = np.float64(dot) * COS_SCALE
    if beta == 0.0:
        return cos
    jaccard = np.float64(overlap) / np.float64(query_size + row_size - overlap)
    if beta == 1.0:
        return cos * jaccard
    if beta == 2.0:
        return cos * (jaccard * jaccard)
    return cos * jaccard**beta


@inline
def vote_weight(sim: Float, alpha: Float) -> Int:
    """Weight of a vote, Sim**alpha, as an integer."""
    weight = 1.0
    if alpha == 1.0:
        weight = sim
    elif alpha == 2.0:
        weight = sim * sim
    elif alpha != 0.0:
        weight = sim**alpha
    return np.int64(np.rint(weight * VOTE_SCALE))
