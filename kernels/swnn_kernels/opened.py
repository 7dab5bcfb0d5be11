"""An index whose arrays come from a file: no kernel follows a number in them before it was checked.

A full check reads every array, which may be gigabytes; an index is to open in milliseconds and to
read from the disk only what its queries use. So:

- On opening, shapes and the arrays with one number a row or a feature are checked.
- An inverted list is checked when a query first uses its feature, once in a process.
- Forward rows hold 16-bit keys, and the tables that these look up have a place for each.
- What needs the whole index (its rows, the lists of the reference kernel) checks all of it first.

Bitmaps, values and scales are never followed: damage there means wrong answers, which only the
checksums of the files can tell.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from swnn_kernels.cache import kernel
from swnn_kernels.index import InvertedIndex
from swnn_kernels.records import Int64, Lists, Uint8, Uint32
from swnn_kernels.references import opener, table
from swnn_kernels.validate import check_pointers


class Seen(NamedTuple):
    """The inverted lists, and which of them have been checked."""

    sound: Uint8  # (n_features,)
    starts: Int64
    rows: Uint32
    n_rows: int


_open_seen = opener(Seen)


@kernel
def _first_bad_list(seen_table, features):  # type: ignore[no-untyped-def]
    """Find a feature whose rows do not ascend within the index; -1 if there is none.

    Threads may check a list at the same time: they come to the same result.
    """
    seen = _open_seen(seen_table)
    for q in range(features.size):
        feature = features[q]
        if seen.sound[feature]:
            continue
        previous = np.int64(-1)
        for p in range(seen.starts[feature], seen.starts[feature + 1]):
            row = np.int64(seen.rows[p])
            if row <= previous or row >= seen.n_rows:
                return np.int64(feature)
            previous = row
        seen.sound[feature] = 1
    return np.int64(-1)


class OpenedIndex(InvertedIndex):
    """An index that `from_arrays` put together from files, which may be damaged or forged.

    Examples
    --------
    >>> rows = np.array([0, 1, 2]), np.array([0, 1], np.int32), np.array([2**23] * 2, np.int32)
    >>> arrays = InvertedIndex.build(*rows, 2).arrays()
    >>> OpenedIndex.from_arrays(arrays).n_rows
    2
    >>> index = OpenedIndex.from_arrays(arrays | {"rows": np.array([0, 7], np.uint32)})
    >>> index.admit(np.array([0]))
    >>> index.admit(np.array([1]))
    Traceback (most recent call last):
    ValueError: index: the list of feature 1 is damaged
    """

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Put an index together after a check of shapes and pointers."""
        index = super().from_arrays(arrays)
        check_pointers(index)
        return index

    def admit(self, features: np.ndarray) -> None:
        """Check the lists of a query's features, unless it has been done."""
        bad = _first_bad_list(self._seen_table, features)
        if bad >= 0:
            raise ValueError(f"index: the list of feature {bad} is damaged")

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Give back the rows the index was built from, after a check of all arrays."""
        self._check_once()
        return super().rows()

    def _invert(self) -> Lists:
        if self.frequent.size:
            self._check_once()
        return super()._invert()

    def _check_once(self) -> None:
        if not self._checked:
            self.check()
            self._checked.append(True)

    @cached_property
    def _checked(self) -> list[bool]:
        return []

    @cached_property
    def _seen(self) -> Seen:
        sound = np.zeros(self.n_features, dtype=np.uint8)
        return Seen(sound, self.starts, self.list_rows, self.n_rows)

    @cached_property
    def _seen_table(self) -> np.ndarray:
        return table(self._seen)
