"""The NumPy/SciPy backend: the postings lists of a query's features, added up by sparse products.

The training rows are kept transposed: a row of the matrix is the postings list of one feature. A
query picks the lists of its features; their product with its quantised values gives the dot
products with all training rows, and counting how often each training row occurs in them gives the
overlaps. Quantised values are integers in float64, so the sums are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from swnn_xp.backends.index import (
    DEFAULT_OPTIONS,
    Index,
    Options,
    RowRunCache,
    queries_that_fit,
    runs_that_fit,
)
from swnn_xp.backends.placement import Placement
from swnn_xp.results import Neighbours
from swnn_xp.rows.canonical import to_csr
from swnn_xp.rows.records import QuantisedRows, row_sizes, slice_rows
from swnn_xp.search import merge, shifted, similarity, top_rows

_ENTRY_BYTES = 32  # the lists that a query picks, copied and added up
_CACHED_PAIRS = 1 << 18  # (query, row) pairs handled at a time, so that temporaries stay in cache


class _RowRun(NamedTuple):
    first: int
    last: int
    postings: sp.csr_array  # (n_features, last - first)


class NumpyIndex(Index):
    """Training rows as transposed CSR matrices, one per run of rows that fits the budget."""

    backend = "numpy"

    def __init__(self, rows: QuantisedRows) -> None:
        self._rows = rows
        self._row_sizes = row_sizes(rows).astype(np.float64)
        self._cache: RowRunCache[_RowRun] = RowRunCache()

    @classmethod
    def build(cls, rows: QuantisedRows, placement: Placement) -> NumpyIndex:
        """Prepare an index over the rows; runs are made for the budget of the first query."""
        return cls(rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._rows,)

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

    def search(
        self,
        queries: QuantisedRows,
        n_neighbors: int,
        beta: float,
        removed: Any = None,
        options: Options = DEFAULT_OPTIONS,
    ) -> Neighbours:
        """Find the best rows of each query, never one that is marked as removed."""
        found = Neighbours(
            np.zeros((queries.n_rows, n_neighbors)),
            np.full((queries.n_rows, n_neighbors), -1, np.int64),
        )
        runs = self._cache.get(options.memory_budget, self._make_runs)
        step = self._block_size(runs, options.memory_budget)
        for start in range(0, queries.n_rows, step):
            block = slice_rows(queries, start, min(start + step, queries.n_rows))
            here = slice(start, start + block.n_rows)
            for run in runs:
                best = self._search_run(block, run, n_neighbors, beta, removed)
                before = Neighbours(found.similarities[here], found.ids[here])
                found.similarities[here], found.ids[here] = merge(before, best, n_neighbors)
        return found

    def _search_run(
        self, block: QuantisedRows, run: _RowRun, n_neighbors: int, beta: float, removed: Any
    ) -> Neighbours:
        its = slice(run.first, run.last)
        sims = _similarities(block, run.postings, self._row_sizes[its], beta)
        if removed is not None:
            sims[:, removed[its]] = 0
        return shifted(top_rows(sims, n_neighbors, _kth_largest), run.first)

    def _make_runs(self, memory_budget: int) -> Sequence[_RowRun]:
        bounds = runs_that_fit(self._rows.indptr, _ENTRY_BYTES, memory_budget)
        return [_RowRun(*its, _transposed(slice_rows(self._rows, *its))) for its in bounds]

    def _block_size(self, runs: Sequence[_RowRun], memory_budget: int) -> int:
        bounds = [(run.first, run.last) for run in runs]
        fits = queries_that_fit(self._rows.indptr, bounds, 0, 0, memory_budget // 2)
        widest = max((last - first for first, last in bounds), default=1)
        return min(fits, max(1, _CACHED_PAIRS // widest))


def _transposed(rows: QuantisedRows) -> sp.csr_array:
    shape = rows.n_rows, rows.n_features
    return to_csr(rows.indptr, rows.indices, rows.quantised.astype(np.float64), shape).T.tocsr()


def _similarities(
    block: QuantisedRows, postings: sp.csr_array, sizes: NDArray[np.float64], beta: float
) -> NDArray[np.float64]:
    """Dense similarities of a block of queries and a run of rows."""
    n_rows = postings.shape[1]
    dots, overlaps = np.empty((block.n_rows, n_rows)), np.empty((block.n_rows, n_rows))
    for query in range(block.n_rows):
        its = slice(block.indptr[query], block.indptr[query + 1])
        picked = postings[block.indices[its]]
        dots[query] = block.quantised[its].astype(np.float64) @ picked
        overlaps[query] = np.bincount(picked.indices, minlength=n_rows)
    query_sizes = row_sizes(block).astype(np.float64)
    return similarity(dots, overlaps, query_sizes[:, None], sizes[None, :], beta)


def _kth_largest(sims: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    slot = sims.shape[1] - k
    return np.partition(sims, slot, axis=1)[:, slot, None]
