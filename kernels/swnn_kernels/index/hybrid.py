"""The index of a training set: built once, memory-mapped from then on, never changed.

`UntrustedIndex` takes arrays from files, which may be damaged or forged: every number is checked
before a kernel follows it. A full check reads every array, which may be gigabytes; an index should
open in milliseconds and read from the disk only what its queries use. So:

- On opening, shapes and the arrays with one number for each row or feature are checked.
- A postings list is checked when a query first uses its feature, once in a process.
- Forward rows hold 16-bit keys, and the tables that they index have a slot for each.
- What needs the whole index (its rows, the postings of the exhaustive search) checks all of it.

Bitmaps, values and scales are never followed: damage there means wrong answers, which only the
checksums of the files can detect.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from swnn_kernels._numba import Table, kernel, struct_view, table
from swnn_kernels.index.arrays import Postings, PrunedIndex, StoredArrays, pruned_index
from swnn_kernels.index.build import (
    FEWEST,
    build_arrays,
    count_forward,
    find,
    invert,
    transpose,
)
from swnn_kernels.index.validation import check_entries, check_layout, check_rows
from swnn_kernels.parallel import BufferPool, once_property
from swnn_kernels.records import Int, Int64, QuantisedRows, Uint8, Uint32, frozen

ALL_CHECKED = frozen(np.zeros(0, np.uint8))
"""Stands for flags of features whose postings lists are all known to be sound."""


@dataclass(frozen=True, eq=False)
class HybridIndex:
    """Training rows in the form that a search works on.

    `build` makes it from rows, `from_arrays` from what `arrays` gave. A store keeps these arrays as
    files and maps them read-only: opening copies and reads nothing.

    Attributes
    ----------
    stored : StoredArrays
        The arrays.

    Examples
    --------
    >>> import numpy as np
    >>> rows = QuantisedRows(np.array([0, 1, 2]), np.array([0, 1]), np.array([2**23, 2**23]), 2)
    >>> index = HybridIndex.build(rows)
    >>> index.n_rows, index.nnz
    (2, 2)
    """

    stored: StoredArrays

    checked_lists: ClassVar[np.ndarray] = ALL_CHECKED
    """Which features' postings lists are known to be sound; empty if all are."""

    @classmethod
    def build(
        cls, rows: QuantisedRows, *, frequent: float | None = None, fewest: int = FEWEST
    ) -> Self:
        """Build the index of canonical quantised rows.

        Parameters
        ----------
        rows : QuantisedRows
            Training rows.
        frequent : float, optional
            Share of the rows from which a feature counts as frequent; the answers do not depend on
            it. By default 0.01, or none at all where a query like the rows meets fewer postings
            than there are rows.
        fewest : int
            Least number of rows of a frequent feature.

        Returns
        -------
        HybridIndex
        """
        rows = rows.prepared()
        check_rows(rows)
        return cls(build_arrays(rows, frequent, fewest))

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Put an index together from the arrays of `arrays`; they may be mapped read-only.

        They are trusted: `UntrustedIndex` takes arrays from a file that may be damaged.
        """
        return cls(StoredArrays.from_dict(arrays))

    def __reduce__(self) -> Any:
        # What is cached holds addresses, which mean nothing in another process.
        return type(self).from_arrays, (self.arrays(),)

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name, read-only."""
        return self.stored._asdict()

    def check(self) -> None:
        """Validate every array; ValueError if one could lead a kernel out of bounds."""
        check_layout(self.stored)
        check_entries(self.stored, self.pruned)

    def check_lists(self, features: np.ndarray) -> None:
        """Check the postings lists of a query's features: here all are known to be sound."""

    @once_property
    def n_rows(self) -> int:
        """Number of training rows."""
        return self.stored.n_rows

    @once_property
    def n_features(self) -> int:
        """Number of features."""
        return self.stored.n_features

    @property
    def nnz(self) -> int:
        """Number of stored non-zeros."""
        return int(self.stored.list_quantised.size + self.stored.forward_hi.size)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays together."""
        return sum(array.nbytes for array in self.stored)

    @property
    def largest_row(self) -> int:
        """Size of the largest row."""
        return int(self.stored.sizes[1])

    @once_property
    def searchers(self) -> BufferPool:
        """Searchers of batches, with their buffers."""
        return BufferPool()

    @once_property
    def pruned(self) -> PrunedIndex:
        """The arrays as the pruned search takes them."""
        return pruned_index(self.stored)

    @once_property
    def pruned_table(self) -> Any:
        """Table of `pruned`."""
        return table(self.pruned)

    @once_property
    def postings(self) -> Postings:
        """Postings lists of all features, for the exhaustive search; kept after the first use."""
        return self._inverted()

    @once_property
    def forward(self) -> QuantisedRows:
        """The rows, for the capped search; kept after the first use."""
        return self.rows().prepared()

    def _inverted(self) -> Postings:
        stored = self.stored
        if not stored.frequent_features.size:
            return Postings(
                stored.list_indptr, stored.list_rows, stored.list_quantised, stored.row_sizes,
                self.n_rows,
            )  # fmt: skip
        counts = np.zeros(stored.frequent_features.size, dtype=np.int64)
        count_forward(stored.forward_hi, counts)
        lengths = np.diff(stored.list_indptr)
        lengths[stored.frequent_features] += counts
        indptr = np.zeros(self.n_features + 1, dtype=np.int64)
        np.cumsum(lengths, out=indptr[1:])
        rows = np.empty(self.nnz, dtype=np.uint32)
        quantised = np.empty(self.nnz, dtype=np.int32)
        out = Postings(indptr, rows, quantised, stored.row_sizes, self.n_rows)
        invert(self.pruned_table, table(out), counts, np.empty_like(counts))
        return out._replace(indptr=frozen(indptr), rows=frozen(rows), quantised=frozen(quantised))

    def rows(self) -> QuantisedRows:
        """Return the rows that the index was built from."""
        indptr = np.zeros(self.n_rows + 1, dtype=np.int64)
        np.cumsum(self.stored.row_sizes[: self.n_rows], out=indptr[1:])
        indices = np.empty(self.nnz, dtype=np.int32)
        rows = QuantisedRows(indptr, indices, np.empty(self.nnz, dtype=np.int32), self.n_features)
        postings = self._inverted()
        transpose(table(postings), table(rows), np.zeros(self.n_rows, dtype=np.int32))
        return rows

    def shared_features(self, row: int, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Find which of a query's features a row has.

        Parameters
        ----------
        row : int
            Row id.
        features : array of int
            Features of the query.

        Returns
        -------
        positions, quantised : arrays of int64 and int32
            Positions in ``features`` and the row's quantised values there.
        """
        if not 0 <= row < self.n_rows:
            raise ValueError(f"row {row} is not among the {self.n_rows} rows")
        features = np.asarray(features, dtype=np.int64)
        if features.size and not 0 <= features.min() <= features.max() < self.n_features:
            raise ValueError(f"a feature is not among the {self.n_features} features")
        positions, values = [], []
        for position, feature in enumerate(features.tolist()):
            has_feature, quantised = find(self.pruned_table, feature, int(row))
            if has_feature:
                positions.append(position)
                values.append(quantised)
        return np.array(positions, dtype=np.int64), np.array(values, dtype=np.int32)


class _CheckedLists(NamedTuple):
    """The postings lists, and which of them have been checked."""

    is_checked: Uint8  # (n_features,)
    indptr: Int64
    rows: Uint32
    n_rows: int


_open_lists = struct_view(_CheckedLists)


@kernel
def _first_bad_list(lists_table: Table[_CheckedLists], features: Int64) -> Int:
    """Find a feature whose rows do not ascend within the index; return -1 if there is none.

    Threads may check a list at the same time: they come to the same result.
    """
    lists = _open_lists(lists_table)
    for q in range(features.size):
        feature = features[q]
        if lists.is_checked[feature]:
            continue
        previous = np.int64(-1)
        for p in range(lists.indptr[feature], lists.indptr[feature + 1]):
            row = np.int64(lists.rows[p])
            if row <= previous or row >= lists.n_rows:
                return np.int64(feature)
            previous = row
        lists.is_checked[feature] = 1
    return np.int64(-1)


@dataclass(frozen=True, eq=False)
class UntrustedIndex(HybridIndex):
    """An index that `from_arrays` put together from files, which may be damaged or forged.

    Examples
    --------
    >>> rows = QuantisedRows(np.array([0, 1, 2]), np.array([0, 1]), np.array([2**23] * 2), 2)
    >>> arrays = HybridIndex.build(rows).arrays()
    >>> UntrustedIndex.from_arrays(arrays).n_rows
    2
    >>> index = UntrustedIndex.from_arrays(arrays | {"list_rows": np.array([0, 7], np.uint32)})
    >>> index.check_lists(np.array([0]))
    >>> index.check_lists(np.array([1]))
    Traceback (most recent call last):
    ValueError: index: the list of feature 1 is damaged
    """

    is_checked: np.ndarray = field(init=False, repr=False)
    """Which features' postings lists are sound: kernels set it, so there must be only one."""
    _lists: Any = field(init=False, repr=False)
    _was_checked: list[bool] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        check_layout(self.stored)
        is_checked, stored = np.zeros(self.n_features, dtype=np.uint8), self.stored
        lists = _CheckedLists(is_checked, stored.list_indptr, stored.list_rows, self.n_rows)
        object.__setattr__(self, "is_checked", is_checked)
        object.__setattr__(self, "_lists", table(lists))

    @property
    def checked_lists(self) -> np.ndarray:  # type: ignore[override]
        """Which features' postings lists have been checked and are sound."""
        return frozen(self.is_checked)

    def check_lists(self, features: np.ndarray) -> None:
        """Check the postings lists of a query's features that have not been checked yet."""
        bad = _first_bad_list(self._lists, features)
        if bad >= 0:
            raise ValueError(f"index: the list of feature {bad} is damaged")

    def rows(self) -> QuantisedRows:
        """Return the rows that the index was built from, after a check of all arrays."""
        self._check_once()
        return super().rows()

    def _inverted(self) -> Postings:
        if self.stored.frequent_features.size:
            self._check_once()
        return super()._inverted()

    def _check_once(self) -> None:
        if not self._was_checked:
            self.check()
            self._was_checked.append(True)
