"""Checks on rows and on an index's arrays: what passes cannot lead a kernel out of bounds."""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import Table, half_to_float, inline, kernel, struct_view, table
from swnn_kernels.index.arrays import (
    PrunedIndex,
    StoredArrays,
    frequent_id_of,
    has_bit,
    key_of,
    padded,
    quantised_of,
    words_of,
)
from swnn_kernels.index.build import ratio_of, scales_of
from swnn_kernels.records import (
    FRACTION_BITS,
    Bool,
    Int,
    Int32,
    Int64,
    QuantisedRows,
    Uint32,
    check_indptr,
)

_LARGEST = 2**FRACTION_BITS
_MAX_FREQUENT = 2**15
_MAX_ROWS = 2**32

_open_index = struct_view(PrunedIndex)


@kernel
def _first_bad_row(indptr: Int64, indices: Int32, quantised: Int32, n_features: Int) -> Int:
    """Find the first row with ids out of range or not ascending, or with too large values."""
    for row in range(indptr.size - 1):
        previous = np.int64(-1)
        for p in range(indptr[row], indptr[row + 1]):
            feature = np.int64(indices[p])
            too_large = abs(np.int64(quantised[p])) > _LARGEST
            if feature <= previous or feature >= n_features or too_large:
                return row
            previous = feature
    return -1


@inline
def _entry_fits(index: PrunedIndex, row: Int, p: Int) -> tuple[Bool, Int]:
    """Whether a forward entry has its bits and lies within its level, and how many bits it has."""
    hi = index.forward_hi[p]
    frequent = frequent_id_of(hi)
    ratio = ratio_of(quantised_of(hi, index.forward_lo[p]), half_to_float(index.row_scales[row]))
    is_large = ratio > index.level_small[frequent]
    first = index.bitmap_indptr[frequent]
    has_second = is_large and index.bitmap_indptr[frequent + 1] - first == 2
    if is_large != (key_of(hi) & 1) or not ratio <= index.level_large[frequent]:
        return False, 0
    if not has_bit(index, first, row):
        return False, 0
    if is_large and not (has_second and has_bit(index, first + 1, row)):
        return False, 0
    return True, 1 + has_second


@kernel
def _forward_rows_fit(index_table: Table[PrunedIndex], n_listed: Int64) -> Bool:
    """Whether every forward entry has its bits and levels, and there are no other bits."""
    index = _open_index(index_table)
    expected, total = np.int64(0), np.int64(0)
    for row in range(index.forward_indptr.size - 1):
        first, last = index.forward_indptr[row], index.forward_indptr[row + 1]
        if index.row_sizes[row] != n_listed[row] + last - first:
            return False
        for p in range(first, last):
            fits, n_bits = _entry_fits(index, row, p)
            if not fits:
                return False
            expected += n_bits
    for w in range(index.bitmaps.size):
        word = index.bitmaps[w]
        while word:
            word &= word - np.uint64(1)
            total += 1
    return total == expected


@kernel
def _first_not_frequent(forward_hi: Uint32, n_frequent: Int) -> Int:
    """Find the first forward entry whose id is none of a frequent feature."""
    for p in range(forward_hi.size):
        if frequent_id_of(forward_hi[p]) >= n_frequent:
            return p
    return -1


def check_rows(rows: QuantisedRows, what: str = "rows") -> None:
    """Rows must be canonical: ids in range, ascending, without repeats, values in range."""
    if rows.indices.ndim != 1 or rows.indices.shape != rows.quantised.shape:
        raise ValueError(f"{what}: indices and quantised values must have one length")
    check_indptr(rows.indptr, rows.indices.size, what)
    row = _first_bad_row(*rows)
    if row >= 0:
        raise ValueError(
            f"{what}: row {row} has ids that are not ascending within 0..{rows.n_features - 1},"
            " or a quantised value beyond 2**23"
        )


def _shapes_fit(stored: StoredArrays) -> bool:
    if stored.sizes.shape != (2,) or stored.forward_indptr.ndim != 1:
        return False
    if not stored.forward_indptr.size:
        return False
    n_rows, n_frequent = stored.n_rows, stored.frequent_features.size
    return (
        stored.list_indptr.shape == (stored.n_features + 1,)
        and stored.frequent_features.ndim == 1
        and stored.bitmaps.ndim == 2
        and stored.bitmaps.shape[1] == words_of(n_rows)
        and stored.row_sizes.shape == stored.row_scales.shape == (padded(n_rows),)
        and stored.level_small.shape == stored.level_large.shape == (n_frequent,)
        and stored.bitmap_indptr.shape == (n_frequent + 1,)
        and stored.list_rows.ndim == stored.forward_hi.ndim == 1
        and stored.list_quantised.shape == stored.list_rows.shape
        and stored.forward_lo.shape == stored.forward_hi.shape
        and n_frequent <= _MAX_FREQUENT
        and n_rows < _MAX_ROWS
    )


def _check_levels(stored: StoredArrays) -> None:
    """Levels must be what values over scales can be: only then sums of weights fit their planes."""
    small, large = stored.level_small, stored.level_large
    if not np.all((small >= 0) & (small <= large) & (large <= 2**17)):
        raise ValueError("index: a level is out of range, or the small one is the larger")
    if np.any(np.diff(stored.bitmap_indptr) != np.where(small < large, 2, 1)):
        raise ValueError("index: the bitmaps of the frequent features do not fit their levels")


def check_layout(stored: StoredArrays) -> None:
    """Raise ValueError unless shapes, pointers, sizes and levels fit together.

    Reads the arrays with one number for each row or feature, and no entries.
    """
    if not _shapes_fit(stored):
        raise ValueError("index: the shapes of its arrays do not fit together")
    n_rows, n_features = stored.n_rows, stored.n_features
    features = np.concatenate([[-1], stored.frequent_features.astype(np.int64), [n_features]])
    if np.any(features[1:] <= features[:-1]):
        raise ValueError(f"index: frequent features must ascend within 0..{n_features - 1}")
    check_indptr(stored.list_indptr, stored.list_rows.size, "lists")
    check_indptr(stored.forward_indptr, stored.forward_hi.size, "forward rows")
    check_indptr(stored.bitmap_indptr, stored.bitmaps.shape[0], "bitmaps")
    _check_levels(stored)
    sizes = stored.row_sizes
    if sizes[n_rows:].any() or sizes.min(initial=0) < 0 or sizes.max(initial=0) != stored.sizes[1]:
        raise ValueError("index: its row sizes do not fit together")


def check_entries(stored: StoredArrays, index: PrunedIndex) -> None:
    """Raise ValueError unless the entries fit pointers that have passed `check_layout`."""
    lists = QuantisedRows(
        stored.list_indptr, stored.list_rows, stored.list_quantised, stored.n_rows
    )
    check_rows(lists, "lists")
    if _first_not_frequent(stored.forward_hi, stored.frequent_features.size) >= 0:
        raise ValueError("index: a forward row has a feature that is not frequent")
    if not np.array_equal(stored.row_scales, scales_of(stored.row_sizes)):
        raise ValueError("index: the scales of the rows do not fit their sizes")
    n_listed = np.bincount(stored.list_rows, minlength=stored.n_rows)
    if not _forward_rows_fit(table(index), n_listed):
        raise ValueError("index: bitmaps, forward rows and row sizes contradict each other")
