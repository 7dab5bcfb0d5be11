"""Checks on rows and on an index's arrays: what passes can't lead a kernel out of bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swnn_kernels.bitslice import STEP_ROWS, bit_of, word_of, words_of
from swnn_kernels.cache import inline, kernel
from swnn_kernels.fixed_point import FRACTION_BITS
from swnn_kernels.levels import ratio_of, scales_of
from swnn_kernels.pairs import key_of, number_of, unit_of
from swnn_kernels.vectors import half_to_float

if TYPE_CHECKING:
    from swnn_kernels.index import InvertedIndex

_LARGEST = 2**FRACTION_BITS


@kernel
def first_bad_row(indptr, indices, units, n_features):  # type: ignore[no-untyped-def]
    """Find the first row with ids out of range or not ascending, or too large units."""
    for row in range(indptr.size - 1):
        previous = np.int64(-1)
        for p in range(indptr[row], indptr[row + 1]):
            feature = np.int64(indices[p])
            if feature <= previous or feature >= n_features or abs(np.int64(units[p])) > _LARGEST:
                return row
            previous = feature
    return -1


@inline
def _has_bit(bits, plane, row):  # type: ignore[no-untyped-def]
    return (bits[plane, word_of(row)] >> bit_of(row)) & np.uint64(1) != 0


@kernel
def _forward_matches_bits(  # type: ignore[no-untyped-def]
    ends, pairs, lows, bits, firsts, small, large, scales, row_sizes, listed
):
    """Whether every forward entry has its bits and levels, and there are no other bits."""
    expected, total = np.int64(0), np.int64(0)
    for row in range(ends.size - 1):
        if row_sizes[row] != listed[row] + ends[row + 1] - ends[row]:
            return False
        for p in range(ends[row], ends[row + 1]):
            number = number_of(pairs[p])
            ratio = ratio_of(unit_of(pairs[p], lows[p]), half_to_float(scales[row]))
            is_large = ratio > small[number]
            if is_large != (key_of(pairs[p]) & 1):
                return False
            has_second = is_large and firsts[number + 1] - firsts[number] == 2
            if not _has_bit(bits, firsts[number], row) or not ratio <= large[number]:
                return False
            if is_large and not (has_second and _has_bit(bits, firsts[number] + 1, row)):
                return False
            expected += 1 + has_second
    for plane in range(bits.shape[0]):
        for w in range(bits.shape[1]):
            word = bits[plane, w]
            while word:
                word &= word - np.uint64(1)
                total += 1
    return total == expected


@kernel
def _first_not_frequent(pairs, n_frequent):  # type: ignore[no-untyped-def]
    """Find the first forward entry whose number is none of a frequent feature."""
    for p in range(pairs.size):
        if number_of(pairs[p]) >= n_frequent:
            return p
    return -1


def check_indptr(indptr: np.ndarray, nnz: int, what: str) -> None:
    """Pointers must start at 0, never fall and end at the number of entries."""
    if indptr.ndim != 1 or indptr.size < 1:
        raise ValueError(f"{what}: pointers must be one-dimensional and not empty")
    if indptr[0] != 0 or indptr[-1] != nnz or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError(f"{what}: pointers must rise from 0 to the {nnz} entries")


def check_rows(
    indptr: np.ndarray, indices: np.ndarray, units: np.ndarray, n_features: int, what: str = "rows"
) -> None:
    """Rows must be canonical: ids in range, ascending, without repeats, units in range."""
    if indices.ndim != 1 or indices.shape != units.shape:
        raise ValueError(f"{what}: indices and units must have one length")
    check_indptr(indptr, indices.size, what)
    row = first_bad_row(indptr, indices, units, n_features)
    if row >= 0:
        raise ValueError(
            f"{what}: row {row} has ids that are not ascending within 0..{n_features - 1},"
            " or a unit beyond 2**23"
        )


def check_pointers(index: InvertedIndex) -> None:
    """Raise ValueError unless shapes, pointers, sizes and levels fit together.

    Reads what there is once for a row or a feature, no entries.
    """
    if index.sizes.shape != (2,) or index.ends.ndim != 1 or not index.ends.size:
        raise ValueError("index: the shapes of its arrays do not fit together")
    n_rows, n_features, n_frequent = index.n_rows, index.n_features, index.frequent.size
    steps = -(-n_rows // STEP_ROWS)
    shapes_fit = (
        index.starts.shape == (n_features + 1,)
        and index.frequent.ndim == 1
        and index.bits.ndim == 2
        and index.bits.shape[1] == words_of(n_rows)
        and index.row_sizes.shape == (steps * STEP_ROWS,)
        and index.scales.shape == (steps * STEP_ROWS,)
        and index.small.shape == index.large.shape == (n_frequent,)
        and index.firsts.shape == (n_frequent + 1,)
        and index.list_rows.ndim == index.pairs.ndim == 1
        and index.list_units.shape == index.list_rows.shape
        and index.lows.shape == index.pairs.shape
        and n_frequent <= 2**15
        and n_rows < 2**32
    )
    if not shapes_fit:
        raise ValueError("index: the shapes of its arrays do not fit together")
    frequent = np.concatenate([[-1], index.frequent.astype(np.int64), [n_features]])
    if np.any(frequent[1:] <= frequent[:-1]):
        raise ValueError(f"index: frequent features must ascend within 0..{n_features - 1}")
    check_indptr(index.starts, index.list_rows.size, "lists")
    check_indptr(index.ends, index.pairs.size, "forward rows")
    check_indptr(index.firsts, index.bits.shape[0], "bitmaps")
    # Sums of weights fit their planes only if levels are what values over scales can be.
    if not np.all((index.small >= 0) & (index.small <= index.large) & (index.large <= 2**17)):
        raise ValueError("index: a level is no such number, or the small one is larger")
    if np.any(np.diff(index.firsts) != np.where(index.small < index.large, 2, 1)):
        raise ValueError("index: the bitmaps of the frequent features do not fit their levels")
    sizes = index.row_sizes
    if sizes[n_rows:].any() or sizes.min(initial=0) < 0 or sizes.max(initial=0) != index.sizes[1]:
        raise ValueError("index: its row sizes do not fit together")


def check_arrays(index: InvertedIndex) -> None:
    """Raise ValueError unless the arrays of an index fit together."""
    check_pointers(index)
    check_rows(index.starts, index.list_rows, index.list_units, index.n_rows, "lists")
    if _first_not_frequent(index.pairs, index.frequent.size) >= 0:
        raise ValueError("index: a forward row has a feature that is not frequent")
    if not np.array_equal(index.scales, scales_of(index.row_sizes)):
        raise ValueError("index: the scales of the rows do not fit their sizes")
    listed = np.bincount(index.list_rows, minlength=index.n_rows)
    if not _forward_matches_bits(
        index.ends, index.pairs, index.lows, index.bits, index.firsts, index.small, index.large,
        index.scales, index.row_sizes, listed,
    ):  # fmt: skip
        raise ValueError("index: bitmaps, forward rows and row sizes contradict each other")
