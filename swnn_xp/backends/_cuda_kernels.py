"""The CUDA kernels of `swnn_kernels.cuda`, compiled by CuPy and called on CuPy arrays.

Launches go to the current stream and wait for nothing; what the host waits for between them is
listed in `cupy_`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import cupy

from swnn_kernels.cuda import OPTIONS, source
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.records import Array, LabelRows, QuantisedRows
from swnn_xp.rows.slicing import row_sizes

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


def search(
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
    """Device memory that `search` takes for one query."""
    tiles = -(-n_rows // _TILE)
    return n_rows * 8 + tiles * min(n_neighbors, _TILE) * 12 + n_neighbors * 28


def rank(found: Neighbours, labels: LabelRows, most_labels: int, alpha: float, k: int) -> Ranking:
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
    """Device memory that `rank` takes for one query."""
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
