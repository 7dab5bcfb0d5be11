"""The CuPy backend: CUDA kernels over postings, or sparse products where those do not fit.

The kernels of `swnn_kernels.cuda` are compiled by CuPy and called on CuPy arrays: search, vote, and
for learned rankings the candidates and their scores. Work goes to CuPy's current stream.

The host waits for the device for a few scalars while a matrix is brought to canonical rows; for
two per block of queries, to cut it out of the batch (a block has at most 8 queries, so a batch of
256 waits 64 times); for one more per block in the product path (ties in the last slot); for one per
batch of votes; for two per block of ranked candidates; and for results that are copied to a caller
on the host. A launch itself waits for nothing.
"""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy
import cupyx.scipy.sparse as cusp
from cupy.cuda.memory import OutOfMemoryError

from swnn_kernels.cuda import OPTIONS, source
from swnn_xp.backends.device import DeviceIndex, ProductIndex, Search
from swnn_xp.backends.index import CandidateScorer, Options
from swnn_xp.backends.placement import DevicePlacement
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.on_device import Entries, compressed_entries, dense_entries
from swnn_xp.rows.records import Array, LabelRows, QuantisedRows, longest_row, row_sizes, slice_rows
from swnn_xp.vote import join_rankings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from swnn_kernels.learn.candidates import Selection
    from swnn_kernels.learn.evidence import Evidence
    from swnn_kernels.learn.scorer import Ranker


_THREADS = 256
_LIST_BLOCKS = 4  # blocks that share one postings list, so that a long one does not delay others
_TILE = 8192  # rows of which one block chooses the best


class Postings(NamedTuple):
    """For each feature the rows that have it, ascending, and their quantised values."""

    indptr: Array  # int64, (n_features + 1,)
    rows: Array  # int32
    quantised: Array  # int32

    @classmethod
    def of(cls, rows: QuantisedRows) -> Postings:
        """Transpose rows."""
        order = cupy.argsort(rows.indices, kind="stable")
        features = cupy.arange(rows.n_features + 1, dtype=cupy.int32)
        indptr = cupy.searchsorted(rows.indices[order], features).astype(cupy.int64)
        number = cupy.arange(rows.n_rows, dtype=cupy.int32)
        at_row = cupy.repeat(number, row_sizes(rows))
        return cls(indptr, at_row[order], rows.quantised[order])

    def transposed(self, n_rows: int) -> QuantisedRows:
        """Turn the postings back into rows."""
        order = cupy.argsort(self.rows, kind="stable")
        numbers = cupy.arange(n_rows + 1, dtype=cupy.int32)
        indptr = cupy.searchsorted(self.rows[order], numbers).astype(cupy.int64)
        n_features = int(self.indptr.shape[0]) - 1
        feature = cupy.arange(n_features, dtype=cupy.int32)
        features = cupy.repeat(feature, self.indptr[1:] - self.indptr[:-1])
        return QuantisedRows(indptr, features[order], self.quantised[order], n_features)


def search_postings(
    postings: Postings,
    sizes: Array,
    queries: QuantisedRows,
    n_neighbors: int,
    beta: float,
    removed: Array | None,
) -> Neighbours:
    """Find the best rows of some queries; `search_bytes` says how many fit the memory."""
    n_queries, n_rows = queries.n_rows, int(sizes.shape[0])
    sums = cupy.zeros((n_queries, n_rows), dtype=cupy.uint64)
    entries = int(queries.indices.shape[0])
    if entries:
        launch(
            "scatter", "scatter", (entries, _LIST_BLOCKS),
            *postings, *queries[:3], cupy.int64(n_rows), sums,
        )  # fmt: skip
    tiles = -(-n_rows // _TILE)
    slots = min(n_neighbors, _TILE)
    keys = cupy.empty((n_queries, tiles, slots), dtype=cupy.uint64)
    rows = cupy.empty((n_queries, tiles, slots), dtype=cupy.int32)
    marks = 0 if removed is None else removed.view(cupy.uint8)
    launch(
        "select", "select_tiles", (tiles, n_queries),
        sums, sizes, queries.indptr, marks, cupy.int32(n_rows), cupy.int32(_TILE),
        cupy.int32(slots), cupy.float64(beta), keys, rows,
    )  # fmt: skip
    shape = n_queries, n_neighbors
    ids, sims = cupy.empty(shape, dtype=cupy.int64), cupy.empty(shape, dtype=cupy.float64)
    best_keys, best_rows = cupy.empty(shape, cupy.uint64), cupy.empty(shape, cupy.int32)
    launch(
        "select", "select_merge", (n_queries,),
        keys, rows, cupy.int32(tiles * slots), cupy.int32(n_neighbors),
        best_keys, best_rows, ids, sims,
    )  # fmt: skip
    return Neighbours(sims, ids)


def search_bytes(n_rows: int, n_neighbors: int) -> int:
    """Device memory that `search_postings` takes for one query."""
    tiles = -(-n_rows // _TILE)
    return n_rows * 8 + tiles * min(n_neighbors, _TILE) * 12 + n_neighbors * 28


def rank_by_votes(
    found: Neighbours, labels: LabelRows, most_labels: int, alpha: float, k: int
) -> Ranking:
    """Let the neighbours of some queries vote; no row has more than `most_labels` labels."""
    n_queries, n_neighbors = found.ids.shape
    capacity = rank_capacity(labels, n_neighbors, most_labels)
    scores = cupy.zeros((n_queries, max(1, labels.n_labels)), dtype=cupy.uint64)
    voted = cupy.empty((n_queries, capacity), dtype=cupy.int32)
    best_labels = cupy.empty((n_queries, k), dtype=cupy.int64)
    best_scores = cupy.empty((n_queries, k), dtype=cupy.float64)
    launch(
        "vote", "vote_topk", (n_queries,),
        found.ids, found.similarities, *labels[:2], cupy.int32(n_neighbors),
        cupy.int64(labels.n_labels),
        cupy.int64(capacity), cupy.float64(alpha), cupy.int32(k),
        scores, voted, best_labels, best_scores,
    )  # fmt: skip
    return Ranking(best_labels, best_scores)


def rank_bytes(labels: LabelRows, n_neighbors: int, most_labels: int) -> int:
    """Device memory that `rank_by_votes` takes for one query."""
    return labels.n_labels * 8 + rank_capacity(labels, n_neighbors, most_labels) * 4


def rank_capacity(labels: LabelRows, n_neighbors: int, most_labels: int) -> int:
    """Number of labels for which one query can get votes."""
    return max(1, min(labels.n_labels, n_neighbors * most_labels))


def launch(module: str, kernel: str, grid: tuple[int, ...], *args: Any) -> None:
    """Launch a kernel of one of the sources, with a fixed number of threads."""
    # CuPy passes pointers as they are: an array that is not contiguous would be misread.
    args = tuple(cupy.ascontiguousarray(a) if isinstance(a, cupy.ndarray) else a for a in args)
    _module(module).get_function(kernel)(grid, (_THREADS,), args)


@functools.cache
def _module(name: str) -> Any:
    return cupy.RawModule(code=source(name), options=OPTIONS)


class Candidates(NamedTuple):
    """Labels in any order, and their votes at each cut."""

    labels: Array  # int32, (n_queries, K), -1 where there is none
    votes: Array  # uint64, (n_queries, K, n_cuts)
    totals: Array  # uint64, (n_queries, n_cuts): the votes of all neighbours


def find_candidates(
    found: Neighbours, labels: LabelRows, most_labels: int, selection: Selection
) -> Candidates:
    """Let the neighbours of some queries vote; no row has more than `most_labels` labels."""
    n_queries, n_neighbors = found.ids.shape
    capacity = rank_capacity(labels, n_neighbors, most_labels)
    cuts, slots = cupy.asarray(selection.cuts, dtype=cupy.int64), selection.n_candidates
    n_cuts, n_labels = len(selection.cuts), max(1, labels.n_labels)
    made = Candidates(
        cupy.empty((n_queries, slots), dtype=cupy.int32),
        cupy.empty((n_queries, slots, n_cuts), dtype=cupy.uint64),
        cupy.zeros((n_queries, n_cuts), dtype=cupy.uint64),
    )
    launch(
        "candidates", "find_candidates", (n_queries,),
        found.ids, found.similarities, *labels[:2], cuts,
        cupy.int32(n_neighbors), cupy.int32(n_cuts), cupy.int64(n_labels),
        cupy.int64(capacity), cupy.float64(selection.alpha), cupy.int32(slots),
        cupy.zeros((n_queries, n_labels), dtype=cupy.int32),
        cupy.empty((n_queries, capacity), dtype=cupy.int32),
        cupy.empty((n_queries, capacity, n_cuts), dtype=cupy.uint64),
        cupy.empty((n_queries, capacity), dtype=cupy.uint64),
        cupy.empty((n_queries, slots), dtype=cupy.uint64),
        *made,
    )  # fmt: skip
    return made


def score_candidates(
    candidates: Candidates, queries: QuantisedRows, ranker: Ranker, k: int
) -> Ranking:
    """Score the candidates of some queries: the best ``k``."""
    n_queries, slots, n_cuts = candidates.votes.shape
    best = (
        cupy.empty((n_queries, k), dtype=cupy.int64),
        cupy.empty((n_queries, k), dtype=cupy.float64),
    )
    launch(
        "scores", "score_candidates", (n_queries,),
        *candidates, *queries[:3], *ranker[:6], cupy.int32(slots), cupy.int32(n_cuts),
        cupy.int64(ranker.modelled.shape[0]), cupy.int64(queries.n_features),
        cupy.int32(ranker.shift), cupy.int32(k),
        cupy.zeros((n_queries, max(1, queries.n_features)), dtype=cupy.int32),
        cupy.zeros((n_queries, slots), dtype=cupy.uint64),
        cupy.empty((n_queries, k), dtype=cupy.uint64),
        cupy.empty((n_queries, k), dtype=cupy.int32),
        *best,
    )  # fmt: skip
    return Ranking(*best)


def ranking_bytes(
    labels: LabelRows, n_neighbors: int, most_labels: int, n_features: int, selection: Selection
) -> int:
    """Device memory that one query takes, without its results."""
    capacity, n_cuts = rank_capacity(labels, n_neighbors, most_labels), len(selection.cuts)
    voting = 4 * labels.n_labels + (12 + 8 * n_cuts) * capacity
    candidates = (20 + 8 * n_cuts) * selection.n_candidates
    return voting + candidates + 4 * n_features + 8 * n_cuts


_IN_FLIGHT = 8  # queries whose sums lie in the L2 cache together
_ENTRY_BYTES = 40  # postings and what it takes to make them, per stored entry
_FREE_SHARE = 0.8  # of the free memory; the rest is for the libraries' own buffers
_PACKED_OVERLAP = 1 << 16  # overlaps from here on do not fit the kernels' packed sums


class CupyPlacement(DevicePlacement):
    """The memory of a CUDA device, known by its number."""

    out_of_memory = (OutOfMemoryError,)

    @classmethod
    def find_device(cls, device: Any) -> int:
        """Number of a device; without one the current device."""
        count = cupy.cuda.runtime.getDeviceCount()
        number = cupy.cuda.Device().id if device is None else getattr(device, "id", device)
        if not isinstance(number, int) or not 0 <= number < count:
            raise ValueError(f"device must be the number of a CUDA device below {count}: {device}")
        return number

    @classmethod
    def device_of(cls, array: Any) -> int:
        """Number of the device that an array or a sparse matrix is on."""
        data = array.data if cusp.issparse(array) else array
        return int(data.device.id)

    def entries(self, X: Any, name: str) -> Entries:
        """Entries of a dense CuPy array or a sparse matrix of cupyx."""
        if not cusp.issparse(X):
            return dense_entries(X, name)
        if X.format == "csr":
            return compressed_entries(X.indptr, X.indices, X.data, X.shape, name)
        coo = X.tocoo()
        order = cupy.argsort(coo.row, kind="stable")
        sizes = cupy.bincount(coo.row, minlength=X.shape[0])
        indptr = cupy.concatenate([cupy.zeros(1, sizes.dtype), cupy.cumsum(sizes)])
        return compressed_entries(indptr, coo.col[order], coo.data[order], X.shape, name)

    def to_device(self, array: Any) -> cupy.ndarray:
        """Copy a NumPy array to the device."""
        with self.current():
            return cupy.asarray(array)

    def sparse(
        self, indptr: Array, columns: Array, values: Array, shape: tuple[int, int]
    ) -> cusp.csr_matrix:
        """Make a CSR matrix of cupyx."""
        # CSR data must be bool or floating in cupyx.
        data = values if values.dtype.kind == "f" else values.astype(cupy.float64)
        columns = columns.astype(cupy.int32, copy=False)
        made = cusp.csr_matrix((data, columns, indptr.astype(cupy.int32)), shape=shape)
        made.has_canonical_format = True
        return made

    def current(self) -> contextlib.AbstractContextManager[Any]:
        """Make the device the current one."""
        return cupy.cuda.Device(self.device)

    def release(self) -> None:
        """Return the memory pool's unused blocks to the device."""
        cupy.get_default_memory_pool().free_all_blocks()


class CupyIndex(DeviceIndex):
    """Training rows on a CUDA device; `build` chooses how they are searched."""

    backend = "cupy"
    placement = CupyPlacement

    @classmethod
    def unusable(cls) -> str | None:
        """Say in one line why there is no device to run on, or None."""
        try:
            return None if cupy.cuda.runtime.getDeviceCount() else "CUDA finds no device"
        except cupy.cuda.runtime.CUDARuntimeError as error:
            return f"CUDA finds no device ({error})"

    @classmethod
    def build(cls, rows: QuantisedRows, placement: Any) -> CupyIndex:
        """Prepare the index that fits the rows and the device."""
        return choose_index(placement.rows(rows), placement)


class CupyKernelIndex(CupyIndex):
    """Postings of all features, searched by CUDA kernels that also count the votes."""

    def __init__(self, rows: QuantisedRows, placement: CupyPlacement) -> None:
        super().__init__(rows, placement)
        with placement.current():
            self._postings = Postings.of(rows)

    def _device_rows(self) -> QuantisedRows:
        return self._postings.transposed(self.n_rows)

    def _block_size(self, search: Search) -> int:
        memory = min(search.options.memory_budget, free_memory())
        return min(_IN_FLIGHT, memory // search_bytes(self.n_rows, search.n_neighbors))

    def _search_block(self, block: QuantisedRows, search: Search) -> Neighbours:
        n_neighbors, beta, removed, _ = search
        return search_postings(self._postings, self._row_sizes, block, n_neighbors, beta, removed)

    def rank_found(
        self, found: Neighbours, labels: Any, alpha: float, k: int, options: Options
    ) -> Ranking:
        """Count the votes of given neighbours: the best labels of each query."""
        n_queries, n_neighbors = found.ids.shape
        if n_queries == 0:
            return super().rank_found(found, labels, alpha, k, options)
        with self._placement.current():
            most_labels = longest_row(labels)

            def best(start: int, stop: int) -> Ranking:
                block = Neighbours(found.similarities[start:stop], found.ids[start:stop])
                return rank_by_votes(block, labels, most_labels, alpha, k)

            memory = min(options.memory_budget, free_memory())
            step = memory // rank_bytes(labels, n_neighbors, most_labels)
            return join_rankings(self._placement.in_blocks(n_queries, step, best))

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
        """Rank the candidates of given neighbours; not those that sources list."""
        n_queries, n_neighbors = found.ids.shape
        if n_queries == 0 or evidence:
            return None
        with self._placement.current():
            ranker, selection = learned.placed_ranker(self._placement), learned.selection
            most_labels = longest_row(labels)

            def best(start: int, stop: int) -> Ranking:
                block = Neighbours(found.similarities[start:stop], found.ids[start:stop])
                candidates = find_candidates(block, labels, most_labels, selection)
                rows = slice_rows(queries, start, stop)
                return score_candidates(candidates, rows, ranker, k)

            memory, width = min(options.memory_budget, free_memory()), queries.n_features
            step = memory // ranking_bytes(labels, n_neighbors, most_labels, width, selection)
            return join_rankings(self._placement.in_blocks(n_queries, step, best))


class CupyProductIndex(ProductIndex, CupyIndex):
    """Training rows as sparse matrices, searched by cuSPARSE products."""

    def _memory(self, memory_budget: int) -> int:
        return min(memory_budget, free_memory())

    def _kth_largest(self, sims: cupy.ndarray, k: int) -> cupy.ndarray:
        slot = sims.shape[1] - k
        return cupy.partition(sims, slot, axis=1)[:, slot, None]

    def _dense(self, block: QuantisedRows, values: cupy.ndarray) -> cupy.ndarray:
        # Column-major, as cuSPARSE wants the dense factor.
        dense = cupy.zeros((block.n_features, block.n_rows), dtype=values.dtype, order="F")
        number = cupy.arange(block.n_rows, dtype=cupy.int64)
        dense[block.indices, cupy.repeat(number, row_sizes(block))] = values
        return dense

    def _times(self, matrix: Any, dense: cupy.ndarray) -> cupy.ndarray:
        return cupy.ascontiguousarray((matrix @ dense).T)


def choose_index(rows: QuantisedRows, placement: CupyPlacement) -> CupyIndex:
    """Choose the kernels if their postings fit the device, else the products."""
    with placement.current():
        if kernels_fit(rows):
            with contextlib.suppress(OutOfMemoryError):
                return CupyKernelIndex(rows, placement)
        return CupyProductIndex(rows, placement)


def kernels_fit(rows: QuantisedRows) -> bool:
    """True if there is room for postings and no row is too long for the kernels' packed sums."""
    room = _ENTRY_BYTES * int(rows.indices.shape[0]) + 8 * _IN_FLIGHT * rows.n_rows
    fits = room < free_memory() and rows.n_rows < 2**31
    return fits and longest_row(rows) < _PACKED_OVERLAP


def free_memory() -> int:
    """Bytes on the current device that arrays may still take."""
    pool = cupy.get_default_memory_pool()
    free = cupy.cuda.Device().mem_info[0] + pool.free_bytes()
    if limit := pool.get_limit():
        free = min(free, limit - pool.used_bytes())
    return int(free * _FREE_SHARE)
