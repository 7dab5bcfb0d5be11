"""An index whose rows live on some device: what the portable, torch and CuPy backends share.

Queries go in blocks, training rows in runs; a block and a run of rows give two matrices, the dot
products and the overlaps, and the rest is the array API. Everything stays on the device: only a
scalar now and then is copied to the host, and results for a caller who came from the host.

`ProductIndex` gets both matrices as products of sparse training rows and a dense block of queries.
They hold exact integers in float64, so the order of summation does not matter. A product of two
sparse matrices would come out nearly dense, and the libraries' routines for it need memory that
can't be known beforehand.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

from array_api_compat import array_namespace

from swnn_xp.backends.index import DEFAULT_OPTIONS, PAIR_BYTES, SHARE, Index, Options, RowRunCache
from swnn_xp.backends.placement import DevicePlacement
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.records import Array, QuantisedRows, longest_row, row_sizes, slice_rows
from swnn_xp.search import empty_neighbours, kth_by_sorting, merge, shifted, similarity, top_rows
from swnn_xp.vote import Votes, join_rankings, join_votes


class Search(NamedTuple):
    """What one search looks for, and within which limits."""

    n_neighbors: int
    beta: float
    removed: Array | None
    options: Options


class DeviceIndex(Index):
    """Training rows on a device; a subclass searches a block of queries."""

    placement: ClassVar[type[DevicePlacement]]

    def __init__(self, rows: QuantisedRows, placement: DevicePlacement) -> None:
        self._placement = placement
        self._shape = rows.n_rows, rows.n_features
        with placement.current():
            sizes = row_sizes(rows)
            xp = array_namespace(sizes)
            self._row_sizes = xp.astype(sizes, xp.float64)

    @abstractmethod
    def _device_rows(self) -> QuantisedRows:
        """Return the rows, still on the device."""

    @abstractmethod
    def _block_size(self, search: Search) -> int:
        """Number of queries whose temporaries fit the memory."""

    @abstractmethod
    def _search_block(self, block: QuantisedRows, search: Search) -> Neighbours:
        """Find the best rows of a block of queries."""

    def _kth_largest(self, sims: Array, k: int) -> Array:
        """Each row's k-th largest value, shape (rows, 1)."""
        return kth_by_sorting(sims, k)

    @classmethod
    def build(cls, rows: QuantisedRows, placement: Any) -> Self:
        """Prepare an index over rows on the host or on the device."""
        return cls(placement.rows(rows), placement)

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the host: device arrays can't all be pickled, nor can what is derived from them.
        return type(self).build, (self.rows(), self._placement)

    @property
    def xp(self) -> Any:
        """Namespace of the arrays."""
        return array_namespace(self._row_sizes)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._shape[0]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._shape[1]

    def rows(self) -> QuantisedRows:
        """Copy the rows to the host."""
        with self._placement.current():
            return self._placement.host_rows(self._device_rows())

    def search(
        self,
        queries: QuantisedRows,
        n_neighbors: int,
        beta: float,
        removed: Array | None = None,
        options: Options = DEFAULT_OPTIONS,
    ) -> Neighbours:
        """Find the best rows of each query, never one that is marked as removed."""
        search = Search(n_neighbors, beta, removed, options)

        def find(start: int, stop: int) -> Neighbours:
            return self._search_block(slice_rows(queries, start, stop), search)

        with self._placement.current():
            if queries.n_rows == 0 or self.n_rows == 0:
                return empty_neighbours(self.xp, self._row_sizes, queries.n_rows, n_neighbors)
            blocks = self._placement.in_blocks(queries.n_rows, self._block_size(search), find)
            if len(blocks) == 1:
                return blocks[0]
            sims, ids = (self.xp.concat(arrays) for arrays in zip(*blocks, strict=True))
            return Neighbours(sims, ids)

    def rank_found(
        self, found: Neighbours, labels: Any, alpha: float, k: int, options: Options
    ) -> Ranking:
        """Count the votes of given neighbours: the best labels of each query."""

        def best(start: int, stop: int) -> Ranking:
            return Index.rank_found(self, _queries(found, start, stop), labels, alpha, k, options)

        n_queries = int(found.ids.shape[0])
        with self._placement.current():
            return join_rankings(self._placement.in_blocks(n_queries, n_queries, best))

    def vote_found(self, found: Neighbours, labels: Any, alpha: float, options: Options) -> Votes:
        """Count the votes of given neighbours: every label with a vote."""

        def count(start: int, stop: int) -> Votes:
            return Index.vote_found(self, _queries(found, start, stop), labels, alpha, options)

        n_queries = int(found.ids.shape[0])
        with self._placement.current():
            return join_votes(self._placement.in_blocks(n_queries, n_queries, count))

    def _best_of_runs(
        self,
        runs: Sequence[Any],
        products: Callable[[Any], tuple[Array, Array]],
        query_sizes: Array,
        search: Search,
    ) -> Neighbours:
        """Search run after run (each has ``first`` and ``last``) and merge what is found.

        ``products(run)`` gives dot products and overlaps, both (queries, rows).
        """
        xp = self.xp
        found = empty_neighbours(xp, self._row_sizes, int(query_sizes.shape[0]), search.n_neighbors)
        for run in runs:
            dots, overlaps = products(run)
            sizes = self._row_sizes[None, run.first : run.last]
            sims = similarity(dots, overlaps, query_sizes[:, None], sizes, search.beta)
            if search.removed is not None:
                removed = search.removed[None, run.first : run.last]
                sims = xp.where(removed, xp.zeros_like(sims), sims)
            best = top_rows(sims, search.n_neighbors, self._kth_largest)
            found = merge(found, shifted(best, run.first), search.n_neighbors)
        return found


def _queries(found: Neighbours, start: int, stop: int) -> Neighbours:
    return Neighbours(found.similarities[start:stop, :], found.ids[start:stop, :])


_FEATURE_BYTES = 16  # one (query, feature) pair: the dense quantised values and the dense ones
_FLOAT32_COUNTS = 2**24  # float32 holds all whole numbers up to here
_MAX_ENTRIES = 2**31 - 1  # what the 32-bit indices of the libraries' sparse matrices can count


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
        self._longest = longest_row(rows)
        self._cache: RowRunCache[RowRun] = RowRunCache()

    @abstractmethod
    def _dense(self, block: QuantisedRows, values: Array) -> Array:
        """Make a dense matrix (features, queries) with values at the block's entries."""

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

    def _most_rows(self) -> int:
        """Rows beyond which a run gains nothing, whatever the memory."""
        return self.n_rows

    def _make_runs(self, memory_budget: int) -> Sequence[RowRun]:
        fitting = self._memory(memory_budget) // (PAIR_BYTES * SHARE)
        runs = row_runs(self._rows, min(fitting, self._most_rows()))
        return [self._run(*run) for run in runs]

    def _run(self, first: int, last: int) -> RowRun:
        rows, sparse = slice_rows(self._rows, first, last), self._placement.sparse
        values = self.xp.astype(rows.quantised, self.xp.float64)
        shape = rows.n_rows, rows.n_features
        quantised = sparse(rows.indptr, rows.indices, values, shape)
        ones = sparse(rows.indptr, rows.indices, self._ones(values), shape)
        return RowRun(first, last, quantised, ones)

    def _ones(self, values: Array) -> Array:
        """A 1 for each value: half as wide, if sums of ones are exact in float32."""
        exact = self._longest < _FLOAT32_COUNTS
        return self.xp.ones_like(values, dtype=self.xp.float32 if exact else self.xp.float64)

    def _block_size(self, search: Search) -> int:
        budget = search.options.memory_budget
        widest = max((s.last - s.first for s in self._runs(budget)), default=0)
        per_query = widest * PAIR_BYTES + self.n_features * _FEATURE_BYTES + 1
        return self._memory(budget) // per_query

    def _search_block(self, block: QuantisedRows, search: Search) -> Neighbours:
        xp = self.xp
        values = xp.astype(block.quantised, xp.float64)
        quantised = self._dense(block, values)
        ones = self._dense(block, self._ones(values)) if search.beta else None

        def products(run: RowRun) -> tuple[Array, Array]:
            dots = self._times(run.quantised, quantised)
            if ones is None:
                return dots, dots  # overlaps are not looked at
            return dots, xp.astype(self._times(run.ones, ones), xp.float64)

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
        if entries > _MAX_ENTRIES and last - first > 1:
            middle = (first + last) // 2
            pending[:0] = [(first, middle), (middle, last)]
        else:
            runs.append((first, last))
    return runs
