"""The NumPy/SciPy backend: the lists of a query's features, added up by sparse products.

The training rows are kept transposed: a row of the matrix is the list of one feature. A query picks
its features' lists; their product with its quantised gives the dot products with all training rows,
and counting how often each training row occurs in them gives the overlaps. Units are integers in
float64, so the sums are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from swnn_xp.backends._base import Index
from swnn_xp.backends._memory import queries_that_fit, shard_runs
from swnn_xp.results import Neighbours
from swnn_xp.rows.canonical import to_csr
from swnn_xp.rows.records import QuantisedRows
from swnn_xp.rows.untrusted import opened_rows
from swnn_xp.search.similarity import similarity
from swnn_xp.search.top_rows import merge, shifted, top_rows

_ENTRY_BYTES = 32  # the lists that a query picks, copied and added up
_CACHED_PAIRS = 1 << 18  # (query, row) pairs handled at a time, so that temporaries stay in cache


class NumpyIndex(Index):
    """Training rows as transposed CSR matrices, one per shard of rows that fits the budget."""

    backend = "numpy"

    def __init__(self, rows: QuantisedRows, memory_budget: int) -> None:
        self.memory_budget = memory_budget
        self._rows = rows
        self._sizes = np.diff(rows.indptr).astype(np.float64)
        self._runs = shard_runs(rows.indptr, _ENTRY_BYTES, memory_budget)
        self._shards = [_transposed(rows, first, last) for first, last in self._runs]

    @classmethod
    def build(
        cls, rows: QuantisedRows, *, memory_budget: int, n_jobs: int = 1, device: Any = None
    ) -> NumpyIndex:
        """Prepare an index over the rows."""
        return cls(rows, memory_budget)

    @classmethod
    def from_arrays(
        cls,
        arrays: dict[str, Any],
        n_features: int,
        *,
        memory_budget: int,
        n_jobs: int = 1,
        device: Any = None,
    ) -> NumpyIndex:
        """Make the index again out of ``arrays()``."""
        return cls(opened_rows(arrays, n_features), memory_budget)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._rows.n_rows

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._rows.n_features

    def rows(self) -> QuantisedRows:
        """Return the rows that the index was built from."""
        return self._rows

    def arrays(self) -> dict[str, Any]:
        """Return the arrays of the rows: all else is derived from them."""
        return {
            "indptr": self._rows.indptr,
            "indices": self._rows.indices,
            "quantised": self._rows.quantised,
        }

    def search(
        self, queries: QuantisedRows, n_neighbors: int, beta: float, removed: Any = None
    ) -> Neighbours:
        """Find the best rows of each query, never one that is marked in ``removed``."""
        found = Neighbours(
            np.full((queries.n_rows, n_neighbors), -1, np.int64),
            np.zeros((queries.n_rows, n_neighbors)),
        )
        step = self._block_size()
        for start in range(0, queries.n_rows, step):
            block = slice_rows(queries, start, min(start + step, queries.n_rows))
            here = slice(start, start + block.n_rows)
            for (first, last), lists in zip(self._runs, self._shards, strict=True):
                sims = _similarities(block, lists, self._sizes[first:last], beta)
                if removed is not None:
                    sims[:, removed[first:last]] = 0
                best = shifted(top_rows(sims, n_neighbors, _kth_largest), first)
                before = Neighbours(found.ids[here], found.sims[here])
                found.ids[here], found.sims[here] = merge(before, best, n_neighbors)
        return found

    def _block_size(self) -> int:
        fits = queries_that_fit(self._rows.indptr, self._runs, 0, 0, self.memory_budget // 2)
        widest = max((last - first for first, last in self._runs), default=1)
        return min(fits, max(1, _CACHED_PAIRS // widest))


def slice_rows(rows: QuantisedRows, first: int, last: int) -> QuantisedRows:
    """Rows ``first`` to ``last`` (exclusive) as views."""
    start, stop = int(rows.indptr[first]), int(rows.indptr[last])
    indptr = rows.indptr[first : last + 1] - start
    return QuantisedRows(
        indptr, rows.indices[start:stop], rows.quantised[start:stop], rows.n_features
    )


def _transposed(rows: QuantisedRows, first: int, last: int) -> sp.csr_array:
    shard = slice_rows(rows, first, last)
    shape = shard.n_rows, shard.n_features
    return to_csr(shard.indptr, shard.indices, shard.quantised.astype(np.float64), shape).T.tocsr()


def _similarities(
    block: QuantisedRows, lists: sp.csr_array, row_sizes: NDArray[np.float64], beta: float
) -> NDArray[np.float64]:
    """Dense similarities of a block of queries and a shard of rows."""
    n_rows = lists.shape[1]
    dots, overlaps = np.empty((block.n_rows, n_rows)), np.empty((block.n_rows, n_rows))
    for query in range(block.n_rows):
        its = slice(block.indptr[query], block.indptr[query + 1])
        picked = lists[block.indices[its]]
        dots[query] = block.quantised[its].astype(np.float64) @ picked
        overlaps[query] = np.bincount(picked.indices, minlength=n_rows)
    query_sizes = np.diff(block.indptr).astype(np.float64)
    return similarity(dots, overlaps, query_sizes[:, None], row_sizes[None, :], beta)


def _kth_largest(sims: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    place = sims.shape[1] - k
    return np.partition(sims, place, axis=1)[:, place, None]
