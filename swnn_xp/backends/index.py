"""What a backend is: an `Index` over training rows that finds neighbours and ranks labels.

A query brings `Options`: how much memory and how many threads it may use. `runs_that_fit` and
`queries_that_fit` cut a search into runs of training rows and blocks of queries whose temporaries
fit that memory. `host_search` searches any index for queries from the host.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import NDArray

from swnn_kernels.parallel import once_property
from swnn_kernels.records import Cap, Settings, rows_to_rescore
from swnn_xp.backends.placement import Placement
from swnn_xp.capped import Shortlist
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.canonical import untrusted_rows
from swnn_xp.rows.records import Array, QuantisedRows, slice_rows
from swnn_xp.vote import Votes, rank_in_blocks, vote_in_blocks

if TYPE_CHECKING:
    from swnn_kernels import HybridIndex
    from swnn_kernels.learn.candidates import Selection
    from swnn_kernels.learn.evidence import Evidence
    from swnn_kernels.learn.scorer import Ranker, Scorer
    from swnn_kernels.parallel import BufferPool


class Options(NamedTuple):
    """Limits that a query keeps; no answer depends on them.

    They are passed when a query runs and never stored in an index, so that a change of
    ``memory_budget`` or ``n_jobs`` counts from the next query on.
    """

    memory_budget: int = 10**9
    """Bytes that temporaries may take."""
    n_jobs: int = 1
    """Threads, where the backend has threads: a plain number, -1 is resolved before."""

    def divided(self, lanes: int) -> Options:
        """The limits of each of some batches that are answered at the same time."""
        return self._replace(memory_budget=self.memory_budget // lanes)


DEFAULT_OPTIONS = Options()


PAIR_BYTES = 96  # temporaries of one (query, row) pair: products, similarity, choice of the best
SHARE = 4  # a run takes a quarter of the memory for one query, so that blocks stay useful

RowRun = TypeVar("RowRun")


class RowRunCache(Generic[RowRun]):
    """The runs for one memory budget: made when a query first needs them, kept until it changes.

    Examples
    --------
    >>> cache = RowRunCache()
    >>> halves = lambda budget: [budget // 2]
    >>> cache.get(8, halves), cache.get(6, halves)
    ([4], [3])
    """

    def __init__(self) -> None:
        self._made: tuple[int, Sequence[RowRun]] | None = None

    def get(self, memory_budget: int, make: Callable[[int], Sequence[RowRun]]) -> Sequence[RowRun]:
        """Return the runs for a budget."""
        made = self._made  # read once: another thread may store others meanwhile
        if made is None or made[0] != memory_budget:
            made = memory_budget, make(memory_budget)
            self._made = made
        return made[1]


def runs_that_fit(indptr: Array, entry_bytes: int, memory: int) -> list[tuple[int, int]]:
    """Runs of rows (first, last) that take their share of the memory with one query.

    Parameters
    ----------
    indptr : int64 array (n_rows + 1,)
    entry_bytes : int
        Temporaries of one (query, stored entry) pair.
    memory : int
        Bytes in all.

    Examples
    --------
    >>> import numpy as np
    >>> runs_that_fit(np.asarray([0, 2, 4, 6]), 8, 4 * 2 * (96 + 16))
    [(0, 2), (2, 3)]
    """
    xp, n_rows = array_namespace(indptr), int(indptr.shape[0]) - 1
    number = xp.arange(n_rows + 1, dtype=xp.int64, device=device(indptr))
    cost = indptr * entry_bytes + number * PAIR_BYTES
    runs, first = [], 0
    while first < n_rows:
        limit = cost[first : first + 1] + memory // SHARE
        last = int(xp.searchsorted(cost, limit, side="right")[0]) - 1
        runs.append((first, max(last, first + 1)))
        first = runs[-1][1]
    return runs


def queries_that_fit(
    indptr: Array, runs: list[tuple[int, int]], entry_bytes: int, query_bytes: int, memory: int
) -> int:
    """Number of queries whose temporaries with any run fit the memory; 1 at least."""
    costs = [
        (int(indptr[last]) - int(indptr[first])) * entry_bytes + (last - first) * PAIR_BYTES
        for first, last in runs
    ]
    return max(1, memory // (max(costs, default=0) + query_bytes + 1))


class CandidateScorer(Protocol):
    """What ranks candidates, for `Index.rank_candidates`."""

    @property
    def selection(self) -> Selection:
        """How neighbours become candidates."""

    @property
    def scorer(self) -> Scorer:
        """The ranker as the kernels take it."""

    @property
    def buffers(self) -> BufferPool:
        """Buffers of the kernels that rank batches."""

    def placed_ranker(self, placement: Placement) -> Ranker:
        """The ranker's arrays where a placement is."""


class Index(ABC):
    """Training rows, prepared for search by one backend. It never changes.

    A subclass must `build`, `search` and give its `rows` back, and say how many there are. It is
    stored as its rows, and votes are counted by array-API functions, unless it overrides that.
    Rows are numbered by their position in the index; a `Model` knows their ids.
    """

    backend: ClassVar[str]
    placement: ClassVar[type[Placement]] = Placement
    """Where its arrays live."""
    stored_as: ClassVar[str] = "numpy"
    """Backend whose `from_arrays` takes what `arrays` gives: a model must open where the library
    of a device is not installed."""
    cap_saves_time: ClassVar[bool] = False
    """Whether the search within a cap, which the host does, may be faster than `search`."""

    @classmethod
    def unusable(cls) -> str | None:
        """Say in one line why the backend can't run on this machine, or None."""
        return None

    @classmethod
    @abstractmethod
    def build(cls, rows: QuantisedRows, placement: Placement) -> Index:
        """Prepare an index over rows that are on the host or where the placement is."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of features."""

    @abstractmethod
    def search(
        self,
        queries: QuantisedRows,
        n_neighbors: int,
        beta: float,
        removed: Array | None = None,
        options: Options = DEFAULT_OPTIONS,
    ) -> Neighbours:
        """Find the best rows of each query, by position; never one that is marked as removed.

        Queries and marks are where the placement is, and so is the answer.
        """

    @once_property
    def kernel_index(self) -> HybridIndex:
        """The rows as the capped search takes them, on the host; kept after the first use."""
        from swnn_kernels import HybridIndex

        return HybridIndex.build(self.rows())

    @once_property
    def feature_counts(self) -> NDArray[np.int64]:
        """Number of rows of each feature."""
        features = self.kernel_index.forward.indices
        return np.bincount(features, minlength=self.n_features).astype(np.int64)

    def search_capped(
        self,
        queries: QuantisedRows,
        n_neighbors: int,
        beta: float,
        cap: Cap,
        removed: Any = None,
        options: Options = DEFAULT_OPTIONS,
    ) -> Neighbours:
        """Find similar rows of each query within a cap; all on the host, unlike `search`."""
        from swnn_kernels import search_capped

        parts = self.kernel_index, queries, n_neighbors, beta, cap
        ids, sims = search_capped(*parts, removed=removed, n_jobs=options.n_jobs)
        return Neighbours(sims, ids)

    def shortlist(
        self,
        queries: QuantisedRows,
        beta: float,
        cap: Cap,
        removed: Any = None,
        options: Options = DEFAULT_OPTIONS,
    ) -> Shortlist:
        """Find the rows that `search_capped` compares; all on the host."""
        from swnn_kernels import shortlist

        parts = self.kernel_index, queries, beta, cap
        return Shortlist(*shortlist(*parts, removed=removed, n_jobs=options.n_jobs))

    @abstractmethod
    def rows(self) -> QuantisedRows:
        """Return the rows that the index was built from, on the host."""

    def arrays(self) -> dict[str, Any]:
        """Return the NumPy arrays that a store keeps; by default those of the rows."""
        rows = self.rows()
        return {"indptr": rows.indptr, "indices": rows.indices, "quantised": rows.quantised}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], n_features: int, placement: Placement) -> Index:
        """Make the index out of `arrays`, which come from a file and are not trusted."""
        return cls.build(untrusted_rows(arrays, n_features), placement)

    def check(self) -> None:
        """Raise ValueError unless all arrays fit together."""
        untrusted_rows(self.arrays(), self.n_features)

    def shared_features(self, position: int, features: Any) -> tuple[Any, Any]:
        """Find which of the ascending features a row has.

        Returns their indices in ``features`` and the row's quantised values.
        """
        rows = self.rows()
        start, stop = int(rows.indptr[position]), int(rows.indptr[position + 1])
        _, at, within = np.intersect1d(
            features, rows.indices[start:stop], assume_unique=True, return_indices=True
        )
        return at, rows.quantised[start:stop][within]

    def rank(
        self,
        queries: QuantisedRows,
        labels: Any,
        settings: Settings,
        k: int,
        removed: Array | None = None,
        options: Options = DEFAULT_OPTIONS,
    ) -> Ranking:
        """Find neighbours and let them vote: the best labels of each query."""
        found = self.search(queries, settings.n_neighbors, settings.beta, removed, options)
        return self.rank_found(found, labels, settings.alpha, k, options)

    def rank_found(
        self, found: Neighbours, labels: Any, alpha: float, k: int, options: Options
    ) -> Ranking:
        """Count the votes of given neighbours: the best labels of each query.

        ``labels`` is what the placement's `labels` has made of all label rows.
        """
        return rank_in_blocks(found, labels, alpha, k, options.memory_budget)

    def vote_found(self, found: Neighbours, labels: Any, alpha: float, options: Options) -> Votes:
        """Count the votes of given neighbours: every label with a vote."""
        return vote_in_blocks(found, labels, alpha, options.memory_budget)

    def rank_candidates(
        self,
        found: Neighbours,
        labels: Any,
        queries: QuantisedRows,
        learned: CandidateScorer,
        evidence: Sequence[Evidence],
        k: int,
        options: Options,
    ) -> Ranking | None:
        """Rank the candidates of given neighbours, by kernels of the backend.

        Returns None where it has none: array-API functions do it then. ``queries`` are not scaled
        by feature weights. ``evidence`` is what the selection's sources list for them.
        """
        return None


class Search(Protocol):
    """Finds neighbours of queries, within a cap of postings if it is not 0; all on the host."""

    def __call__(
        self, queries: QuantisedRows, n_neighbors: int, beta: float, postings: int = 0
    ) -> Neighbours:
        """Find the neighbours."""


_HOST = np.empty((0, 0))


def host_search(index: Index, placement: Placement, options: Options) -> Search:
    """Make a function that searches an index for queries from the host."""

    def search(
        queries: QuantisedRows, n_neighbors: int, beta: float, postings: int = 0
    ) -> Neighbours:
        wanted = max(1, min(n_neighbors, index.n_rows))
        if postings:
            cap = Cap(postings, rows_to_rescore(postings, wanted), index.feature_counts)
            return index.search_capped(queries, wanted, beta, cap, None, options)

        def find(start: int, stop: int) -> Neighbours:
            rows = placement.rows(slice_rows(queries, start, stop))
            return index.search(rows, wanted, beta, None, shared)

        shared = options.divided(placement.n_lanes)
        found = placement.in_batches(queries.n_rows, find)
        return Neighbours(*placement.as_input_kind(_HOST, *found))

    return search
