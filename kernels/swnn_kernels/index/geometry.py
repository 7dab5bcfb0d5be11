"""Where the bit of a row lies in a bitmap.

Sums over bitmaps go through the rows in steps of 512. The eight words of a step hold the rows in an
order that lets `bitslice.to_bytes` write counters in the order of the rows.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import inline
from swnn_kernels.dtypes import aligned_zeros

STEP_ROWS = 512
STEP_WORDS = 8


def padded(n_rows: int) -> int:
    """Number of rows, rounded up to whole steps."""
    return -(-n_rows // STEP_ROWS) * STEP_ROWS


def words_of(n_rows: int) -> int:
    """Words of a bitmap: an odd number of cache lines.

    The words of a step come from many bitmaps. At an even distance they would share a few sets of
    the first-level cache and evict each other.
    """
    return (-(-n_rows // STEP_ROWS) | 1) * STEP_WORDS


def empty_bitmaps(n_bitmaps: int, n_rows: int) -> np.ndarray:
    """Bitmaps of zeros that start on a cache line."""
    words = words_of(n_rows)
    return aligned_zeros(n_bitmaps * words, np.uint64).reshape(n_bitmaps, words)


@inline
def _word_of(row):  # type: ignore[no-untyped-def]
    return (row >> 9) * STEP_WORDS + ((row & 63) >> 3)


@inline
def _bit_of(row):  # type: ignore[no-untyped-def]
    return np.uint64(((row & 7) << 3) | ((row >> 6) & 7))


@inline
def set_bit(index, bitmap, row):  # type: ignore[no-untyped-def]
    """Set the bit of a row in a bitmap of the index."""
    index.bitmaps[bitmap * index.bitmap_words + _word_of(row)] |= np.uint64(1) << _bit_of(row)


@inline
def has_bit(index, bitmap, row):  # type: ignore[no-untyped-def]
    """Whether the bit of a row is set in a bitmap of the index."""
    word = index.bitmaps[bitmap * index.bitmap_words + _word_of(row)]
    return (word >> _bit_of(row)) & np.uint64(1) != 0
