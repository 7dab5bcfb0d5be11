"""The index as kernels take it: postings for the exhaustive search, or all arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swnn_kernels.dtypes import (
    Float32,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    frozen,
)
from swnn_kernels.index.arrays import StoredArrays


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
