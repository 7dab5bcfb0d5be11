"""The arrays of an index as they are stored: their names and dtypes are the file format.

The index as kernels take it: postings for the exhaustive search, or all arrays.
"""

from __future__ import annotations

from typing import NamedTuple, Self, get_args, get_type_hints

import numpy as np

from swnn_kernels.records import Float32, Int32, Int64, Uint8, Uint16, Uint32, Uint64, frozen

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
    forward_hi: Uint32  # see forward_entries.py
    forward_lo: Uint8
    bitmaps: Uint64  # (n_bitmaps, words): see geometry.py
    bitmap_indptr: Int32  # (n_frequent + 1,): one or two bitmaps of a feature, see levels.py
    level_small: Float32  # (n_frequent,)
    level_large: Float32  # (n_frequent,)
    row_scales: Uint16  # (n_rows, padded): upper halves of float32, see levels.py

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
