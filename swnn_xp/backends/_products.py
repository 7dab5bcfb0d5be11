"""Search by two sparse products: training rows times a dense block of queries.

Both hold exact integers in float64, so the order of summation does not matter. The training rows
are the sparse factor and the queries the dense one: a product of two sparse matrices would come
out nearly dense, and the libraries' routines for it need memory that can't be known beforehand.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from swnn_xp.backends._device_index import DeviceIndex, Search
from swnn_xp.backends._device_placement import DevicePlacement
from swnn_xp.backends._memory import PAIR_BYTES, SHARE, RowRunCache
from swnn_xp.results import Neighbours
from swnn_xp.rows.records import Array, QuantisedRows
from swnn_xp.rows.slicing import row_sizes, slice_rows

_FEATURE_BYTES = 16  # one (query, feature) pair: the dense quantised values and the dense ones
_MOST_ENTRIES = 2**31 - 1  # what the 32-bit indices of the libraries' sparse matrices can count


class RowRun(NamedTuple):
    """Some training rows as two sparse matrices (rows, features) with the same entries."""

    first: int
    last: int
    quantised: Any
    ones: Any


class ProductIndex(DeviceIndex):
    """Training rows as sparse matrices; a subclass multiplies them: `_dense` and `_times`."""

    def __init__(self, rows: QuantisedRows, placement: DevicePlacement) -> None:
        super().__init__(rows, placement)
        self._rows = rows
        self._cache: RowRunCache[RowRun] = RowRunCache()

    @abstractmethod
    def _dense(self, block: QuantisedRows, values: Array) -> Array:
        """Make a dense float64 matrix (features, queries) with values at the block's entries."""

    @abstractmethod
    def _times(self, matrix: Any, dense: Array) -> Array:
        """Multiply a sparse matrix (rows, features) by a dense one, as (queries, rows)."""

    def _memory(self, memory_budget: int) -> int:
        """Bytes that temporaries may take."""
        return memory_budget

    def _device_rows(self) -> QuantisedRows:
        return self._rows

    def _runs(self, memory_budget: int) -> Sequence[RowRun]:
        return self._cache.get(memory_budget, self._make_runs)

    def _make_runs(self, memory_budget: int) -> Sequence[RowRun]:
        most_rows = self._memory(memory_budget) // (PAIR_BYTES * SHARE)
        return [self._run(*run) for run in row_runs(self._rows, most_rows)]

    def _run(self, first: int, last: int) -> RowRun:
        rows, sparse = slice_rows(self._rows, first, last), self._placement.sparse
        values = self.xp.astype(rows.quantised, self.xp.float64)
        shape = rows.n_rows, rows.n_features
        quantised = sparse(rows.indptr, rows.indices, values, shape)
        ones = sparse(rows.indptr, rows.indices, self.xp.ones_like(values), shape)
        return RowRun(first, last, quantised, ones)

    def _block_size(self, search: Search) -> int:
        budget = search.options.memory_budget
        widest = max((s.last - s.first for s in self._runs(budget)), default=0)
        per_query = widest * PAIR_BYTES + self.n_features * _FEATURE_BYTES + 1
        return self._memory(budget) // per_query

    def _search_block(self, block: QuantisedRows, search: Search) -> Neighbours:
        xp = self.xp
        values = xp.astype(block.quantised, xp.float64)
        quantised = self._dense(block, values)
        ones = self._dense(block, xp.ones_like(values)) if search.beta else None

        def products(run: RowRun) -> tuple[Array, Array]:
            dots = self._times(run.quantised, quantised)
            return dots, (dots if ones is None else self._times(run.ones, ones))

        sizes = xp.astype(row_sizes(block), xp.float64)
        runs = self._runs(search.options.memory_budget)
        return self._best_of_runs(runs, products, sizes, search)


def row_runs(rows: QuantisedRows, most_rows: int) -> list[tuple[int, int]]:
    """Runs of at most ``most_rows`` rows, each with few enough entries for 32-bit indices."""
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
