"""An index whose arrays come from a file: every number is checked before a kernel follows it.

A full check reads every array, which may be gigabytes; an index should open in milliseconds and
read from the disk only what its queries use. So:

- On opening, shapes and the arrays with one number for each row or feature are checked.
- A postings list is checked when a query first uses its feature, once in a process.
- Forward rows hold 16-bit keys, and the tables that they index have a slot for each.
- What needs the whole index (its rows, the postings of the exhaustive search) checks all of it.

Bitmaps, values and scales are never followed: damage there means wrong answers, which only the
checksums of the files can detect.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from swnn_kernels._numba import kernel, struct_view, table
from swnn_kernels.dtypes import Int64, Uint8, Uint32, frozen
from swnn_kernels.index.hybrid import HybridIndex
from swnn_kernels.index.validation import check_layout
from swnn_kernels.index.views import Postings
from swnn_kernels.records import Rows


class _CheckedLists(NamedTuple):
    """The postings lists, and which of them have been checked."""

    is_checked: Uint8  # (n_features,)
    indptr: Int64
    rows: Uint32
    n_rows: int


_open_lists = struct_view(_CheckedLists)


@kernel
def _first_bad_list(lists_table, features):  # type: ignore[no-untyped-def]
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
    >>> rows = Rows(np.array([0, 1, 2]), np.array([0, 1]), np.array([2**23] * 2), 2)
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

    def rows(self) -> Rows:
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
