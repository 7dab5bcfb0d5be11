"""The arrays of an index: as they are stored, as kernels take them, and what their bits mean.

Names and dtypes of `StoredArrays` are the file format.

**Bitmaps.** Sums over bitmaps go through the rows in steps of 512. The eight words of a step hold
the rows in an order that lets `bitslice.to_bytes` write counters in the order of the rows.

**Forward rows.** An entry is a key and the high bits of a value in one word, and the low 8 bits
apart. The key is twice the id of the frequent feature, plus 1 if the value is large (see
`build.py`). A rescoring reads the words first, one stream of memory, and most rows fall below the
threshold before the low bits of their values are needed.
"""

from __future__ import annotations

from typing import NamedTuple, Self, get_args, get_type_hints

import numpy as np

from swnn_kernels._numba import inline
from swnn_kernels.records import (
    Bool,
    Float32,
    Int,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    aligned_zeros,
    frozen,
)

KEY_BITS = 16
"""A word of ``forward_hi`` holds a value's high bits, with its sign, above a key."""
LO_BITS = 8
"""Low bits of a value, in ``forward_lo``."""


class StoredArrays(NamedTuple):
    """What an index is made of. "Padded" means to whole steps of 512 rows, with zeros."""

    sizes: Int64  # (2,): n_features, largest row size
    row_sizes: Int32  # (n_rows, padded)
    list_indptr: Int64  # (n_features + 1,): postings lists, one for each feature
    list_rows: Uint32  # ascending in a list
    list_quantised: Int32
    frequent_features: Int32  # (n_frequent,): ascending
    forward_indptr: Int64  # (n_rows + 1,): forward rows, the frequent features of each row
    forward_hi: Uint32  # see `pack_hi`
    forward_lo: Uint8
    bitmaps: Uint64  # (n_bitmaps, words): see `words_of`
    bitmap_indptr: Int32  # (n_frequent + 1,): one or two bitmaps of a feature, see build.py
    level_small: Float32  # (n_frequent,)
    level_large: Float32  # (n_frequent,)
    row_scales: Uint16  # (n_rows, padded): upper halves of float32, see build.py

    @classmethod
    def from_dict(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Take the arrays by name, read-only; ValueError if one is missing or of another dtype."""
        hints = get_type_hints(cls, include_extras=True)
        for name in cls._fields:
            dtype = get_args(hints[name])[1]
            if name not in arrays:
                raise ValueError(f"the index lacks the array {name!r}")
            if arrays[name].dtype != dtype or not arrays[name].flags.c_contiguous:
                raise ValueError(f"the index's array {name!r} must be contiguous {dtype.__name__}")
        return cls(*(frozen(arrays[name]) for name in cls._fields))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.forward_indptr.size) - 1

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.sizes[0])


class Postings(NamedTuple):
    """Postings lists of all features."""

    indptr: Int64  # (n_features + 1,)
    rows: Uint32  # (nnz,), ascending in a list
    quantised: Int32  # (nnz,)
    row_sizes: Int32  # (n_rows, padded)
    n_rows: int


class PrunedIndex(NamedTuple):
    """Postings lists of the rare features, and bitmaps, levels and forward rows of the others.

    The pruned search works on it; so do the kernels that build, check and read an index. The fields
    are those of `StoredArrays`, with these in addition.
    """

    row_sizes: Int32
    list_indptr: Int64
    list_rows: Uint32
    list_quantised: Int32
    frequent_features: Int32
    frequent_id: Int32  # (n_features,): position among the frequent features, or -1
    forward_indptr: Int64
    forward_hi: Uint32
    forward_lo: Uint8
    bitmaps: Uint64  # flat
    bitmap_words: int  # of one bitmap
    bitmap_indptr: Int32
    level_small: Float32
    level_large: Float32
    row_scales: Uint16


def frequent_ids(frequent_features: np.ndarray, n_features: int) -> np.ndarray:
    """Position of every feature among the frequent ones, -1 for a rare one."""
    ids = np.full(n_features, -1, dtype=np.int32)
    ids[frequent_features] = np.arange(frequent_features.size, dtype=np.int32)
    return ids


def pruned_index(stored: StoredArrays) -> PrunedIndex:
    """The stored arrays as the pruned search takes them."""
    more = {
        "frequent_id": frozen(frequent_ids(stored.frequent_features, stored.n_features)),
        "bitmaps": stored.bitmaps.reshape(-1),
        "bitmap_words": stored.bitmaps.shape[1],
    }
    return PrunedIndex(
        *(more[name] if name in more else getattr(stored, name) for name in PrunedIndex._fields)
    )


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
