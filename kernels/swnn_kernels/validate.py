"""Checks on rows and on an index's arrays: what passes can't lead a kernel out of bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swnn_kernels.bitslice import STEP_ROWS, STEP_WORDS, bit_of, word_of
from swnn_kernels.cache import kernel
from swnn_kernels.fixed_point import FRACTION_BITS
from swnn_kernels.layout import bound_lines
from swnn_kernels.pairs import LARGEST_LOW, number_of, unit_of

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
            if feature <= previous or feature >= n_features or abs(units[p]) > _LARGEST:
                return row
            previous = feature
    return -1


@kernel
def _forward_matches_bits(ends, pairs, bits, row_sizes, rare):  # type: ignore[no-untyped-def]
    """Whether every forward entry has its bit and there are no other bits."""
    total = np.int64(0)
    for row in range(ends.size - 1):
        if row_sizes[row] != rare[row] + ends[row + 1] - ends[row]:
            return False
        for p in range(ends[row], ends[row + 1]):
            if not (bits[number_of(pairs[p]), word_of(row)] >> bit_of(row)) & np.uint64(1):
                return False
    for number in range(bits.shape[0]):
        for w in range(bits.shape[1]):
            word = bits[number, w]
            while word:
                word &= word - np.uint64(1)
                total += 1
    return total == pairs.size


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


@kernel
def _first_bad_forward_row(ends, pairs, lows, n_frequent):  # type: ignore[no-untyped-def]
    """Find the first forward row with numbers out of range or not ascending, or bad units."""
    for row in range(ends.size - 1):
        previous = np.int64(-1)
        for p in range(ends[row], ends[row + 1]):
            number = number_of(pairs[p])
            if number <= previous or number >= n_frequent or lows[p] > LARGEST_LOW:
                return row
            if abs(unit_of(pairs[p], lows[p])) > _LARGEST:
                return row
            previous = number
    return -1


def check_pointers(index: InvertedIndex) -> None:
    """Raise ValueError unless shapes, pointers and sizes fit together; reads no entries."""
    if index.sizes.shape != (2,) or index.ends.ndim != 1 or not index.ends.size:
        raise ValueError("index: the shapes of its arrays do not fit together")
    n_rows, n_features, n_frequent = index.n_rows, index.n_features, index.frequent.size
    steps = -(-n_rows // STEP_ROWS)
    shapes_fit = (
        index.starts.shape == (n_features + 1,)
        and index.frequent.ndim == 1
        and index.bits.shape == (n_frequent, steps * STEP_WORDS)
        and index.row_sizes.shape == (steps * STEP_ROWS,)
        and index.lines.shape == (5, steps * STEP_ROWS)
        and index.list_rows.ndim == index.pairs.ndim == 1
        and index.list_units.shape == index.list_rows.shape
        and index.lows.shape == index.pairs.shape
        and n_frequent < 2**16
        and n_rows < 2**32
    )
    if not shapes_fit:
        raise ValueError("index: the shapes of its arrays do not fit together")
    frequent = np.concatenate([[-1], index.frequent.astype(np.int64), [n_features]])
    if np.any(frequent[1:] <= frequent[:-1]):
        raise ValueError(f"index: frequent features must ascend within 0..{n_features - 1}")
    check_indptr(index.starts, index.list_rows.size, "lists")
    check_indptr(index.ends, index.pairs.size, "forward rows")
    sizes = index.row_sizes
    if sizes[n_rows:].any() or sizes.min(initial=0) < 0 or sizes.max(initial=0) != index.sizes[1]:
        raise ValueError("index: its row sizes do not fit together")


def check_arrays(index: InvertedIndex) -> None:
    """Raise ValueError unless the arrays of an index fit together."""
    check_pointers(index)
    n_rows, frequent = index.n_rows, index.frequent.astype(np.int64)
    check_rows(index.starts, index.list_rows, index.list_units, n_rows, "lists")
    bad = _first_bad_forward_row(index.ends, index.pairs, index.lows, frequent.size)
    if bad >= 0:
        raise ValueError(f"index: the frequent features of row {bad} are damaged")
    if np.any(index.starts[frequent] != index.starts[frequent + 1]):
        raise ValueError("index: a frequent feature has a list too")
    if not np.array_equal(index.lines, bound_lines(index.ends, index.pairs, index.lows)):
        raise ValueError("index: the bounds of the rows do not fit the forward rows")
    rare = np.bincount(index.list_rows, minlength=n_rows)
    if not _forward_matches_bits(index.ends, index.pairs, index.bits, index.row_sizes, rare):
        raise ValueError("index: bitmaps, forward rows and row sizes contradict each other")
