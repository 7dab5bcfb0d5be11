"""Building the arrays of an index: which features are frequent, their levels, where values go."""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import table
from swnn_kernels.index import layout
from swnn_kernels.index.arrays import StoredArrays
from swnn_kernels.index.forward_rows import sort_buffers
from swnn_kernels.index.geometry import empty_bitmaps, padded, words_of
from swnn_kernels.index.levels import Levels, choose_levels, scales_of
from swnn_kernels.index.views import PrunedIndex, frequent_ids
from swnn_kernels.records import Rows

FEWEST = 64
"""Rows below which no feature is frequent: a bitmap would be mostly padding."""
_FREQUENT = 0.01  # share of the rows from which a bitmap pays
_MOST_BYTES = 12  # for a non-zero in all
_MOST_FREQUENT = 2**15  # a key, twice a frequent id, fits 16 bits


def build_arrays(rows: Rows, frequent: float | None, fewest: int) -> StoredArrays:
    """Build the arrays of an index from checked rows."""
    counts = np.zeros(rows.n_features, dtype=np.int64)
    layout.count_features(rows.indices, counts)
    share = _default_share(counts, rows.n_rows) if frequent is None else frequent
    least = max(fewest, int(np.ceil(share * rows.n_rows)))
    features = _frequent_features(counts, least, rows.n_rows)
    row_sizes = np.zeros(padded(rows.n_rows), dtype=np.int32)
    row_sizes[: rows.n_rows] = np.diff(rows.indptr)
    scales = scales_of(row_sizes)
    ids = frequent_ids(features, rows.n_features)
    levels = choose_levels(rows, ids, scales, features.size)
    n_listed = counts.copy()
    n_listed[features] = levels.n_listed
    index = _allocated(rows, features, levels, n_listed)._replace(
        frequent_id=ids, row_sizes=row_sizes, row_scales=scales
    )
    largest = int(row_sizes.max(initial=0))
    buffers = sort_buffers(largest)
    layout.fill(table(rows), table(index), levels.last_bucket, table(buffers))
    more = {
        "sizes": np.array([rows.n_features, largest], dtype=np.int64),
        "list_indptr": index.list_indptr[:-1].copy(),
        "bitmaps": index.bitmaps.reshape(-1, index.bitmap_words),
    }
    names = StoredArrays._fields
    return StoredArrays.from_dict({n: more[n] if n in more else getattr(index, n) for n in names})


def _allocated(
    rows: Rows, features: np.ndarray, levels: Levels, n_listed: np.ndarray
) -> PrunedIndex:
    """Allocate the arrays that `layout.fill` fills; those of the rows are still missing."""
    list_indptr = np.zeros(rows.n_features + 2, dtype=np.int64)
    np.cumsum(n_listed, out=list_indptr[2:])
    n_forward = rows.indices.size - int(list_indptr[-1])
    bitmap_indptr = np.zeros(features.size + 1, dtype=np.int32)
    np.cumsum(np.where(levels.small < levels.large, 2, 1), out=bitmap_indptr[1:])
    missing = np.zeros(0, dtype=np.int32)
    return PrunedIndex(
        row_sizes=missing,
        list_indptr=list_indptr,
        list_rows=np.empty(rows.indices.size - n_forward, dtype=np.uint32),
        list_quantised=np.empty(rows.indices.size - n_forward, dtype=np.int32),
        frequent_features=features,
        frequent_id=missing,
        forward_indptr=np.zeros(rows.n_rows + 1, dtype=np.int64),
        forward_hi=np.empty(n_forward, dtype=np.uint32),
        forward_lo=np.empty(n_forward, dtype=np.uint8),
        bitmaps=empty_bitmaps(int(bitmap_indptr[-1]), rows.n_rows).reshape(-1),
        bitmap_words=words_of(rows.n_rows),
        bitmap_indptr=bitmap_indptr,
        level_small=levels.small,
        level_large=levels.large,
        row_scales=missing,
    )


def _default_share(counts: np.ndarray, n_rows: int) -> float:
    """No feature is frequent where a query like the rows meets fewer postings than rows."""
    meets_few = float(np.square(counts, dtype=np.float64).sum()) < float(n_rows) ** 2
    return 2.0 if meets_few else _FREQUENT


def _frequent_features(counts: np.ndarray, least: int, n_rows: int) -> np.ndarray:
    """Features of at least ``least`` rows, ascending; fewer if bitmaps would grow too large.

    A value costs 8 bytes in a list and 5 in a forward row; two bitmaps a feature come on top.
    """
    order = np.argsort(-counts, kind="stable")[:_MOST_FREQUENT]
    often = order[counts[order] >= least]
    bitmaps = 2 * 8 * words_of(n_rows) * np.arange(1, often.size + 1)
    room = (_MOST_BYTES - 8) * counts.sum() + 3 * np.cumsum(counts[often])
    room -= 14 * n_rows + 12 * counts.size
    fits = np.flatnonzero(bitmaps <= room)
    often = often[: fits[-1] + 1 if fits.size else 0]
    return np.sort(often).astype(np.int32)
