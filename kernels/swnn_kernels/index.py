"""The index of a training set: built once, memory-mapped from then on, never changed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from swnn_kernels import layout, levels
from swnn_kernels.bitslice import STEP_ROWS, words_of
from swnn_kernels.forward import SIZES
from swnn_kernels.records import Lists, Split, frozen
from swnn_kernels.validate import check_arrays, check_rows

_DTYPES = {
    "sizes": np.int64,  # n_features, largest row size
    "row_sizes": np.int32,
    "starts": np.int64,
    "rows": np.uint32,
    "units": np.int32,
    "frequent": np.int32,
    "ends": np.int64,
    "pairs": np.uint32,
    "lows": np.uint8,
    "bits": np.uint64,
    "firsts": np.int32,
    "small": np.float32,
    "large": np.float32,
    "scales": np.uint16,
}
_FREQUENT = 0.01  # share of the rows from which a bitmap pays
_FEWEST = 64  # rows below which no feature is frequent: a bitmap would be mostly padding
_MOST_BYTES = 12  # for a non-zero in all
_MOST_FREQUENT = 2**15  # twice a local number fits 16 bits


@dataclass(frozen=True)
class InvertedIndex:
    """What the kernels search in.

    Built from canonical unit rows by `build`, or put together by `from_arrays` from what `arrays`
    gave, which a store keeps as files and maps read-only: nothing is copied or read on opening.

    Attributes
    ----------
    n_rows, n_features, nnz, nbytes : int
        Size of the training set and of this index.

    Examples
    --------
    >>> import numpy as np
    >>> index = InvertedIndex.build(np.array([0, 1, 2]), np.array([0, 1], np.int32),
    ...                             np.array([2**23, 2**23], np.int32), 2)
    >>> index.n_rows, index.nnz
    (2, 2)
    """

    sizes: np.ndarray
    row_sizes: np.ndarray
    starts: np.ndarray
    list_rows: np.ndarray
    list_units: np.ndarray
    frequent: np.ndarray
    ends: np.ndarray
    pairs: np.ndarray
    lows: np.ndarray
    bits: np.ndarray
    firsts: np.ndarray
    small: np.ndarray
    large: np.ndarray
    scales: np.ndarray

    @classmethod
    def build(
        cls,
        indptr: np.ndarray,
        indices: np.ndarray,
        units: np.ndarray,
        n_features: int,
        *,
        frequent: float | None = None,
        fewest: int = _FEWEST,
    ) -> Self:
        """Build the index of canonical rows in fixed-point units.

        Parameters
        ----------
        indptr : array of int64, (n_rows + 1,)
            Where each row starts.
        indices : array of int32, (nnz,)
            Features, ascending in a row and without repeats.
        units : array of int32, (nnz,)
            Unit values times 2**23.
        n_features : int
            Number of features.
        frequent : float, optional
            Share of the rows from which a feature counts as frequent (a matter of speed only). By
            default 0.01, or none at all where a query like the rows meets fewer postings than there
            are rows.
        fewest : int
            And the least number of rows for it.

        Returns
        -------
        InvertedIndex
        """
        indptr = np.ascontiguousarray(indptr, dtype=np.int64)
        indices = np.ascontiguousarray(indices, dtype=np.int32)
        units = np.ascontiguousarray(units, dtype=np.int32)
        check_rows(indptr, indices, units, n_features)
        n_rows = indptr.size - 1
        counts = np.zeros(n_features, dtype=np.int64)
        layout.count_features(indices, counts)
        if frequent is None:
            meets_few = float(np.square(counts, dtype=np.float64).sum()) < float(n_rows) ** 2
            frequent = 2.0 if meets_few else _FREQUENT
        often = _frequent_features(counts, max(fewest, int(np.ceil(frequent * n_rows))), n_rows)
        local = np.full(n_features, -1, dtype=np.int32)
        local[often] = np.arange(often.size, dtype=np.int32)
        row_sizes = np.zeros(-(-n_rows // STEP_ROWS) * STEP_ROWS, dtype=np.int32)
        row_sizes[:n_rows] = np.diff(indptr)
        scales = levels.scales_of(row_sizes)
        small, large, last, outside = levels.choose_levels(
            indptr, indices, units, local, scales, often.size
        )
        n_forward = int(counts[often].sum() - outside.sum())
        counts[often] = outside
        starts = np.zeros(n_features + 2, dtype=np.int64)
        np.cumsum(counts, out=starts[2:])
        firsts = np.zeros(often.size + 1, dtype=np.int32)
        np.cumsum(np.where(small < large, 2, 1), out=firsts[1:])
        arrays: dict[str, np.ndarray] = {
            "sizes": np.array([n_features, row_sizes.max(initial=0)], dtype=np.int64),
            "row_sizes": row_sizes,
            "rows": np.empty(indices.size - n_forward, dtype=np.uint32),
            "units": np.empty(indices.size - n_forward, dtype=np.int32),
            "frequent": often,
            "ends": np.zeros(n_rows + 1, dtype=np.int64),
            "pairs": np.empty(n_forward, dtype=np.uint32),
            "lows": np.empty(n_forward, dtype=np.uint8),
            "bits": _bitmaps(int(firsts[-1]), n_rows),
            "firsts": firsts,
            "small": small,
            "large": large,
            "scales": scales,
        }
        layout.fill(
            indptr, indices, units, local, scales, small, last, firsts, starts,
            *(arrays[name] for name in ("rows", "units", "ends", "pairs", "lows", "bits")),
            np.empty(row_sizes.max(initial=0), dtype=np.uint32),
            np.empty(row_sizes.max(initial=0), dtype=np.uint8), np.zeros(SIZES, dtype=np.int64),
        )  # fmt: skip
        arrays["starts"] = starts[:-1].copy()
        return cls.from_arrays(arrays)

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> Self:
        """Put an index together from the arrays of `arrays`; they may be mapped read-only.

        They are trusted: `OpenedIndex` takes arrays from a file that may be damaged.
        """
        for name, dtype in _DTYPES.items():
            if name not in arrays:
                raise ValueError(f"the index lacks the array {name!r}")
            if arrays[name].dtype != dtype or not arrays[name].flags.c_contiguous:
                raise ValueError(f"the index's array {name!r} must be contiguous {dtype.__name__}")
        return cls(*(frozen(arrays[name]) for name in _DTYPES))

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name, read-only."""
        values = (getattr(self, name) for name in self.__dataclass_fields__)
        return dict(zip(_DTYPES, values, strict=True))

    def check(self) -> None:
        """Validate every array; ValueError if a kernel could go astray in them."""
        check_arrays(self)

    def admit(self, features: np.ndarray) -> None:
        """Be told the features of queries before they are searched: here all lists are sound."""

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return int(self.ends.size) - 1

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.sizes[0])

    @property
    def nnz(self) -> int:
        """Number of stored non-zeros."""
        return int(self.list_units.size + self.pairs.size)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays together."""
        return sum(array.nbytes for array in self.arrays().values())

    @property
    def largest_row(self) -> int:
        """Number of features of the longest row."""
        return int(self.sizes[1])

    @cached_property
    def local(self) -> np.ndarray:
        """Local number of each feature among the frequent ones, or -1."""
        local = np.full(self.n_features, -1, dtype=np.int32)
        local[self.frequent] = np.arange(self.frequent.size, dtype=np.int32)
        return frozen(local)

    @cached_property
    def split(self) -> Split:
        """The arrays as the pruned kernel takes them."""
        return Split(
            self.starts, self.list_rows, self.list_units, self.row_sizes, self.local, self.ends,
            self.pairs, self.lows, self.bits.reshape(-1), self.bits.shape[1], self.firsts,
            self.small, self.large, self.scales,
        )  # fmt: skip

    @cached_property
    def inverted(self) -> Lists:
        """Inverted lists of all features, for the reference kernel; kept after the first use."""
        return self._invert()

    def _invert(self) -> Lists:
        if not self.frequent.size:
            return Lists(self.starts, self.list_rows, self.list_units)
        counts = np.zeros(self.frequent.size, dtype=np.int64)
        layout.count_forward(self.pairs, counts)
        lengths = np.diff(self.starts)
        lengths[self.frequent] += counts
        full = np.zeros(self.n_features + 1, dtype=np.int64)
        np.cumsum(lengths, out=full[1:])
        rows = np.empty(self.nnz, dtype=np.uint32)
        units = np.empty(self.nnz, dtype=np.int32)
        layout.invert(
            self.starts, self.list_rows, self.list_units, self.local, self.frequent, self.ends,
            self.pairs, self.lows, full, counts, np.empty_like(counts), rows, units,
        )  # fmt: skip
        return Lists(frozen(full), frozen(rows), frozen(units))

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Give back the rows the index was built from: indptr, indices and units."""
        indptr = np.zeros(self.n_rows + 1, dtype=np.int64)
        np.cumsum(self.row_sizes[: self.n_rows], out=indptr[1:])
        indices = np.empty(self.nnz, dtype=np.int32)
        units = np.empty(self.nnz, dtype=np.int32)
        cursor = np.zeros(self.n_rows, dtype=np.int32)
        layout.transpose(*self._invert(), indptr, cursor, indices, units)
        return indptr, indices, units

    def shared(self, row: int, q_indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of a query's features a row has.

        Parameters
        ----------
        row : int
            Row id.
        q_indices : array of int
            Features of the query.

        Returns
        -------
        positions, units : arrays of int64 and int32
            Positions in ``q_indices`` and the row's units there.
        """
        if not 0 <= row < self.n_rows:
            raise ValueError(f"row {row} is not among the {self.n_rows} rows")
        features = np.asarray(q_indices, dtype=np.int64)
        if features.size and not 0 <= features.min() <= features.max() < self.n_features:
            raise ValueError(f"a feature is not among the {self.n_features} features")
        positions, units = [], []
        for position, feature in enumerate(features.tolist()):
            there, unit = layout.find(
                feature, row, self.starts, self.list_rows, self.list_units, self.local[feature],
                self.ends, self.pairs, self.lows,
            )  # fmt: skip
            if there:
                positions.append(position)
                units.append(unit)
        return np.array(positions, dtype=np.int64), np.array(units, dtype=np.int32)


def _frequent_features(counts: np.ndarray, least: int, n_rows: int) -> np.ndarray:
    """Features of at least so many rows, ascending; the most frequent if bitmaps grow too large.

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


def _bitmaps(n_features: int, n_rows: int) -> np.ndarray:
    """Empty bitmaps that start on a cache line."""
    words = words_of(n_rows)
    memory = np.zeros(n_features * words + 8, dtype=np.uint64)
    skip = (-memory.ctypes.data // 8) % 8
    return memory[skip : skip + n_features * words].reshape(n_features, words)
