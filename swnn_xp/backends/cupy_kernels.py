"""The CUDA kernels of `swnn_kernels.cuda`, called on CuPy arrays.

Work goes to CuPy's current stream. A launch waits for nothing; only `search_rows` waits once, for
the number of queries that its kernels left over.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy

from swnn_kernels.cuda import OPTIONS, Tiles, source
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.records import Array, LabelRows, QuantisedRows, row_sizes

if TYPE_CHECKING:
    from swnn_kernels.learn.candidates import Selection
    from swnn_kernels.learn.scorer import Ranker

_THREADS = 256
_SEARCH_THREADS = 512
_MOST_NEIGHBOURS = 512  # no more than the threads, whose best bounds give the threshold
_BLOCKS = 1024  # that keep a large device busy
_CACHED_POSTINGS = 1 << 22  # that stay in the L2 cache while all queries of a batch read them
_LISTED = 2048  # rows listed for a query, beside those for each block that searches for it
_TILE = 8192  # rows of which one block chooses the best, where it takes all


def launch(
    module: str, kernel: str, grid: tuple[int, ...], *args: Any, threads: int = _THREADS
) -> None:
    """Launch a kernel of one of the sources."""
    # CuPy passes pointers as they are: an array that is not contiguous would be misread.
    args = tuple(cupy.ascontiguousarray(a) if isinstance(a, cupy.ndarray) else a for a in args)
    _module(module).get_function(kernel)(grid, (threads,), args)


@functools.cache
def _module(name: str) -> Any:
    return cupy.RawModule(code=source(name), options=OPTIONS)


class SearchedRows(NamedTuple):
    """Rows on the device, as they are and as postings."""

    rows: QuantisedRows
    sizes: Array  # int32, (n_rows,)
    tiles: Tiles

    @classmethod
    def of(cls, rows: QuantisedRows) -> SearchedRows:
        """Make the postings."""
        return cls(rows, row_sizes(rows).astype(cupy.int32), Tiles.of(cupy, rows))


def search_rows(
    searched: SearchedRows,
    queries: QuantisedRows,
    n_neighbors: int,
    beta: float,
    removed: Array | None,
    memory: int,
) -> tuple[Neighbours, int]:
    """Find the best rows of some queries, and count those that needed exact scores of all rows."""
    n_queries = queries.n_rows
    ids = cupy.empty((n_queries, n_neighbors), dtype=cupy.int64)
    found = Neighbours(cupy.empty(ids.shape, dtype=cupy.float64), ids)
    left = cupy.arange(n_queries, dtype=cupy.int32)
    n_left = n_queries
    if n_neighbors <= _MOST_NEIGHBOURS:
        n_left = _search_tiles(searched, queries, beta, removed, found, left)
    n_rows = searched.rows.n_rows
    per_query = 8 * n_rows + _rescan_bytes(n_rows, n_neighbors)
    step = max(1, memory // per_query)
    for start in range(0, n_left, step):
        some = left[start : min(start + step, n_left)]
        _search_exhaustively(searched, queries, beta, removed, found, some)
    return found, n_left


def search_bytes(n_rows: int, n_neighbors: int) -> int:
    """Device memory that `search_rows` takes for one query, at most."""
    return 8 * _listed(-(-n_rows // _TILE), n_neighbors) + 16 * n_neighbors + 12


def _listed(ranges: int, n_neighbors: int) -> int:
    return _LISTED + 2 * ranges * min(n_neighbors, _MOST_NEIGHBOURS)


def _search_tiles(
    searched: SearchedRows,
    queries: QuantisedRows,
    beta: float,
    removed: Array | None,
    found: Neighbours,
    left: Array,
) -> int:
    """Fill ``found`` but for some queries, whose numbers go to ``left``; return how many."""
    (directory, slices, postings), n_queries = searched.tiles, queries.n_rows
    n_tiles, directory_size, _ = directory.shape
    wanted = max(-(-_BLOCKS // n_queries), -(-postings.size // _CACHED_POSTINGS))
    ranges, n_slots = min(wanted, n_tiles), found.ids.shape[1]
    capacity = _listed(ranges, n_slots)
    state = cupy.zeros(2 * n_queries + 1, dtype=cupy.uint32)
    thresholds, counts, n_left = state[:n_queries], state[n_queries:-1], state[-1:]
    lists = cupy.empty((n_queries, capacity, 2), dtype=cupy.uint32)
    limits = cupy.int32(n_slots), cupy.uint32(capacity), cupy.float64(beta)
    launch(
        "search", "search_tiles", (n_queries, ranges),
        directory, slices, postings, searched.sizes, _marks(removed), *queries[:3],
        cupy.int32(n_tiles), cupy.int64(directory_size), *limits, thresholds, counts, lists,
        threads=_SEARCH_THREADS,
    )  # fmt: skip
    launch(
        "search", "finish", (n_queries,),
        *searched.rows[:3], searched.sizes, *queries[:3], thresholds, counts, lists, *limits,
        found.ids, found.similarities, n_left, left, threads=_SEARCH_THREADS,
    )  # fmt: skip
    return int(n_left[0])


def _search_exhaustively(
    searched: SearchedRows,
    queries: QuantisedRows,
    beta: float,
    removed: Array | None,
    found: Neighbours,
    left: Array,
) -> None:
    """Fill ``found`` for the queries with these numbers."""
    n_rows, n_queries, n_neighbors = searched.rows.n_rows, left.size, found.ids.shape[1]
    tiles, slots = -(-n_rows // _TILE), min(n_neighbors, _TILE)
    keys = cupy.empty((n_queries, tiles, slots), dtype=cupy.uint64)
    rows = cupy.empty((n_queries, tiles, slots), dtype=cupy.int32)
    launch(
        "select", "select_tiles", (n_queries, tiles),
        *searched.rows[:3], _marks(removed), *queries[:3], left, cupy.int32(n_rows),
        cupy.int32(_TILE), cupy.int32(slots), cupy.float64(beta),
        cupy.empty((n_queries, n_rows), dtype=cupy.uint64), keys, rows,
    )  # fmt: skip
    launch(
        "select", "select_merge", (n_queries,),
        keys, rows, left, cupy.int32(tiles * slots), cupy.int32(n_neighbors),
        cupy.empty((n_queries, n_neighbors), dtype=cupy.uint64),
        cupy.empty((n_queries, n_neighbors), dtype=cupy.int32),
        found.ids, found.similarities,
    )  # fmt: skip


def _rescan_bytes(n_rows: int, n_neighbors: int) -> int:
    return 12 * (-(-n_rows // _TILE) * min(n_neighbors, _TILE) + n_neighbors)


def _marks(removed: Array | None) -> Any:
    return 0 if removed is None else removed.view(cupy.uint8)


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
