"""The records that hold rows, and how to cut, pick and stack them.

A record holds ``indptr`` first, then one or more arrays with one element for each entry, and the
width of the rows last: the functions here rely on nothing else. Its arrays are of one array-API
namespace and on one device.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from swnn_kernels.records import QuantisedRows as QuantisedRows

Array: TypeAlias = Any
"""An array of any array-API namespace (NumPy, CuPy, torch, array-api-strict)."""


VALUE_DTYPES = (np.uint8, np.float32, np.float64)
"""What values are kept as: the first of them that holds all of them exactly."""


class ValueRows(NamedTuple):
    """Canonical sparse rows with float64 values."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    n_features: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.indptr.shape[0]) - 1


class LabelRows(NamedTuple):
    """The labels of each row: ``indices[indptr[i]:indptr[i + 1]]``, ascending, without repeats."""

    indptr: Array  # int64, (n_rows + 1,)
    indices: Array  # int32, (nnz,)
    n_labels: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.indptr.shape[0]) - 1


Rows = TypeVar("Rows", ValueRows, QuantisedRows, LabelRows)


def slice_rows(rows: Rows, first: int, last: int) -> Rows:
    """Rows ``first`` to ``last`` (exclusive); their entries are views where the library has views.

    Examples
    --------
    >>> labels = LabelRows(np.asarray([0, 1, 3]), np.asarray([4, 2, 4]), 5)
    >>> slice_rows(labels, 1, 2)
    LabelRows(indptr=array([0, 2]), indices=array([2, 4]), n_labels=5)
    """
    if first == 0 and last == int(rows.indptr.shape[0]) - 1:
        return rows
    start, stop = int(rows.indptr[first]), int(rows.indptr[last])
    entries = (array[start:stop] for array in _entries(rows))
    return _like(rows, rows.indptr[first : last + 1] - start, entries)


def take_rows(rows: Rows, positions: NDArray[np.integer]) -> Rows:
    """Rows at the given positions, in that order; on the host only.

    Examples
    --------
    >>> labels = LabelRows(np.asarray([0, 1, 3]), np.asarray([4, 2, 4]), 5)
    >>> take_rows(labels, np.asarray([1, 0, 1])).indices.tolist()
    [2, 4, 4, 2, 4]
    """
    starts = rows.indptr[positions]
    sizes = rows.indptr[positions + 1] - starts
    indptr = pointers_of_sizes(sizes)
    picked = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], sizes)
    return _like(rows, indptr, (array[picked] for array in _entries(rows)))


def keep_rows(rows: Rows, keep: NDArray[np.bool_]) -> Rows:
    """Rows that are marked, on the host; needs less memory than `take_rows`.

    Examples
    --------
    >>> labels = LabelRows(np.asarray([0, 1, 3]), np.asarray([4, 2, 4]), 5)
    >>> keep_rows(labels, np.asarray([False, True])).indices.tolist()
    [2, 4]
    """
    sizes = np.diff(rows.indptr)
    kept = np.repeat(keep, sizes)
    indptr = pointers_of_sizes(sizes[keep])
    return _like(rows, indptr, (array[kept] for array in _entries(rows)))


def stack_rows(blocks: Sequence[Rows]) -> Rows:
    """Put blocks of rows under each other, on the host; the widest block decides the width.

    Examples
    --------
    >>> one = LabelRows(np.asarray([0, 1]), np.asarray([4]), 5)
    >>> stack_rows([one, one]).indptr.tolist()
    [0, 1, 2]
    """
    if len(blocks) == 1:
        return blocks[0]
    sizes = np.concatenate([np.diff(block.indptr) for block in blocks])
    entries = map(np.concatenate, zip(*map(_entries, blocks), strict=True))
    widest = max(blocks, key=lambda block: block[-1])
    return _like(widest, pointers_of_sizes(sizes), entries)


def pointers_of_sizes(sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """``indptr`` of rows with these numbers of entries.

    Examples
    --------
    >>> pointers_of_sizes(np.asarray([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    indptr = np.zeros(sizes.size + 1, np.int64)
    np.cumsum(sizes, out=indptr[1:])
    return indptr


def row_sizes(rows: ValueRows | QuantisedRows | LabelRows) -> Array:
    """Number of entries of each row, on any device."""
    return rows.indptr[1:] - rows.indptr[:-1]


def longest_row(rows: ValueRows | QuantisedRows | LabelRows) -> int:
    """Number of entries of the longest row; 0 if there are no rows."""
    if int(rows.indptr.shape[0]) < 2:
        return 0
    sizes = row_sizes(rows)
    return int(array_namespace(sizes).max(sizes))


def _entries(rows: ValueRows | QuantisedRows | LabelRows) -> tuple[Array, ...]:
    return rows[1:-1]


def _like(rows: Rows, indptr: Array, entries: Iterable[Array]) -> Rows:
    """Rows of the same record and width."""
    record: Any = type(rows)
    return record(indptr, *entries, rows[-1])
