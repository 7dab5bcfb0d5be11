"""Search by two sparse products: training rows times a dense block of queries.

Both hold exact integers in float64, so the order of summation does not matter. The training rows
are the sparse factor and the queries the dense one: a product of two sparse matrices would come
out nearly dense, and the libraries' routines for it need room that can't be known beforehand.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

from swnn_xp.backends._device import DeviceIndex, device_slice
from swnn_xp.backends._memory import PAIR_BYTES, SHARE
from swnn_xp.results import Neighbours
from swnn_xp.rows.records import Array, QuantisedRows

_FEATURE_BYTES = 16  # one (query, feature) pair: the dense quantised and the dense ones
_MOST_ENTRIES = 2**31 - 1  # what the 32-bit indices of the libraries' sparse matrices can count


class Shard(NamedTuple):
    """Some training rows as two sparse matrices (rows, features) with the same places filled."""

    quantised: Any
    ones: Any


class ProductIndex(DeviceIndex):
    """Training rows as sparse matrices; a subclass makes and multiplies them."""

    _rows: QuantisedRows

    def _keep(self, rows: QuantisedRows) -> None:
        self._rows = rows
        self._shards = [
            (first, last, self._shard(device_slice(rows, first, last)))
            for first, last in row_runs(rows, self._memory() // (PAIR_BYTES * SHARE))
        ]

    def _device_rows(self) -> QuantisedRows:
        return self._rows

    def _memory(self) -> int:
        """Bytes that temporaries may take."""
        return self.memory_budget

    def _shard(self, rows: QuantisedRows) -> Shard:
        values = self.xp.astype(rows.quantised, self.xp.float64)
        shape = rows.n_rows, rows.n_features
        return Shard(
            self._sparse(rows.indptr, rows.indices, values, shape),
            self._sparse(rows.indptr, rows.indices, self.xp.ones_like(values), shape),
        )

    def _block_size(self, n_neighbors: int) -> int:
        widest = max((last - first for first, last, _ in self._shards), default=0)
        return self._memory() // (widest * PAIR_BYTES + self.n_features * _FEATURE_BYTES + 1)

    @abstractmethod
    def _dense(self, block: QuantisedRows, values: Array) -> Array:
        """Make a dense float64 matrix (features, queries) with the values at the block's places."""

    @abstractmethod
    def _times(self, matrix: Any, dense: Array) -> Array:
        """Multiply a sparse matrix (rows, features) with a dense one, as (queries, rows)."""

    def _search_block(
        self, block: QuantisedRows, n_neighbors: int, beta: float, removed: Array | None
    ) -> Neighbours:
        xp = self.xp
        values = xp.astype(block.quantised, xp.float64)
        quantised = self._dense(block, values)
        ones = self._dense(block, xp.ones_like(values)) if beta else None

        def products(shard: Shard) -> tuple[Array, Array]:
            dots = self._times(shard.quantised, quantised)
            return dots, (dots if ones is None else self._times(shard.ones, ones))

        sizes = xp.astype(block.indptr[1:] - block.indptr[:-1], xp.float64)
        return self._best_of_shards(self._shards, products, sizes, n_neighbors, beta, removed)


def row_runs(rows: QuantisedRows, most_rows: int) -> list[tuple[int, int]]:
    """Runs of at most so many rows, each with few enough entries for 32-bit indices."""
    runs = []
    step = max(1, min(most_rows, rows.n_rows))
    pending = [(s, min(s + step, rows.n_rows)) for s in range(0, rows.n_rows, step)]
    while pending:
        first, last = pending.pop(0)
        entries = int(rows.indptr[last]) - int(rows.indptr[first])
        if entries > _MOST_ENTRIES and last - first > 1:
            middle = (first + last) // 2
            pending[:0] = [(first, middle), (middle, last)]
        else:
            runs.append((first, last))
    return runs
