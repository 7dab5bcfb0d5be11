"""Where the bit of a row lies in a bitmap.

Sums over bitmaps go through the rows in steps of 512. The eight words of a step hold the rows in an
order that lets `bitslice.to_bytes` write counters in the order of the rows.

How a forward row stores an entry: key and high bits of a value in one word, low 8 bits apart.

A key is twice the id of the frequent feature, plus 1 if the value is large (see levels.py).

A rescoring reads the words first, one stream of memory, and most rows fall below the threshold
before the low bits of their values are needed.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import inline
from swnn_kernels.index.arrays import KEY_BITS, LO_BITS, PrunedIndex
from swnn_kernels.records import Bool, Int, aligned_zeros

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
def _word_of(row: Int) -> Int:
    return (row >> 9) * STEP_WORDS + ((row & 63) >> 3)


@inline
def _bit_of(row: Int) -> Int:
    return np.uint64(((row & 7) << 3) | ((row >> 6) & 7))


@inline
def set_bit(index: PrunedIndex, bitmap: Int, row: Int) -> None:
    """Set the bit of a row in a bitmap of the index."""
    index.bitmaps[bitmap * index.bitmap_words + _word_of(row)] |= np.uint64(1) << _bit_of(row)


@inline
def has_bit(index: PrunedIndex, bitmap: Int, row: Int) -> Bool:
    """Whether the bit of a row is set in a bitmap of the index."""
    word = index.bitmaps[bitmap * index.bitmap_words + _word_of(row)]
    return (word >> _bit_of(row)) & np.uint64(1) != 0


LARGEST_LO = 2**LO_BITS - 1
"""Largest value of the low bits."""
_KEY = np.int64(2**KEY_BITS - 1)


@inline
def pack_hi(frequent_id: Int, is_large: Bool, quantised: Int) -> Int:
    """Join the key and the high bits, 16 with sign, of a value below 2**23."""
    key = 2 * np.int64(frequent_id) + np.int64(is_large)
    return np.uint32((((np.int64(quantised) >> LO_BITS) & _KEY) << KEY_BITS) | key)


@inline
def lo_of(quantised: Int) -> Int:
    """Low 8 bits of a value."""
    return np.uint8(np.int64(quantised) & LARGEST_LO)


@inline
def key_of(hi: Int) -> Int:
    """Key of an entry: frequent id and level."""
    return np.int64(hi) & _KEY


@inline
def frequent_id_of(hi: Int) -> Int:
    """Frequent id of an entry."""
    return key_of(hi) >> 1


@inline
def high_bits_of(hi: Int) -> Int:
    """High bits of an entry's value."""
    return np.int64(np.int32(hi)) >> KEY_BITS


@inline
def quantised_of(hi: Int, lo: Int) -> Int:
    """The whole value of an entry."""
    return (high_bits_of(hi) << LO_BITS) + np.int64(lo)
