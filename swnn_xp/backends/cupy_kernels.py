"""The CUDA kernels of `swnn_kernels.cuda`, called on CuPy arrays.

Work goes to CuPy's current stream. A launch waits for nothing; only `search_rows` waits once, for
the number of queries that its kernels left over.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy

from swnn_kernels.cuda import (
    MOST_NEIGHBOURS,
    OPTIONS,
    Tiles,
    most_listed,
    pool_words,
    source,
)
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.records import Array, LabelRows, QuantisedRows, row_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from swnn_kernels.learn.candidates import Selection
    from swnn_kernels.learn.evidence import Evidence
    from swnn_kernels.learn.scorer import Ranker

_THREADS = 256
_SEARCH_THREADS = 512
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
    if n_neighbors <= MOST_NEIGHBOURS:
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
    return 8 * most_listed(-(-n_rows // _TILE), n_neighbors) + 16 * n_neighbors + 12


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
    ranges, n_slots = searched.tiles.ranges(n_queries), found.ids.shape[1]
    capacity = most_listed(ranges, n_slots)
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
    found: Neighbours, labels: LabelRows, most_labels: int, alpha: float, k: int, memory: int
) -> Ranking:
    """Let the neighbours of some queries vote; no row has more than `most_labels` labels."""
    n_queries, n_neighbors = found.ids.shape
    pools, words = _pools(n_queries, _most_voted(labels, n_neighbors, most_labels), 1, memory)
    best_labels = cupy.empty((n_queries, k), dtype=cupy.int64)
    best_scores = cupy.empty((n_queries, k), dtype=cupy.float64)
    launch(
        "vote", "vote_topk", (pools.shape[0],),
        found.ids, found.similarities, *labels[:2], cupy.int32(n_queries), cupy.int32(n_neighbors),
        cupy.int64(labels.n_labels), cupy.float64(alpha), cupy.int32(k), pools, cupy.int64(words),
        cupy.empty((n_queries, k), dtype=cupy.uint64),
        cupy.empty((n_queries, k), dtype=cupy.int32),
        best_labels, best_scores,
    )  # fmt: skip
    return Ranking(best_labels, best_scores)


def rank_bytes(k: int) -> int:
    """Device memory that `rank_by_votes` takes for one query, beside that for votes."""
    return 28 * k + 1


def _most_voted(labels: LabelRows, n_neighbors: int, most_labels: int) -> int:
    """Number of labels for which one query can get votes."""
    return min(labels.n_labels, n_neighbors * most_labels)


def _pools(n_queries: int, most_voted: int, n_cuts: int, memory: int) -> tuple[Array, int]:
    """Memory for the votes of each block that runs, if a block's own is short; words of each."""
    words = pool_words(most_voted, n_cuts)
    blocks = max(1, min(n_queries, memory // (8 * words))) if words else n_queries
    return cupy.empty((blocks, words), dtype=cupy.uint64), words


class Candidates(NamedTuple):
    """Labels in any order, and the bin of each in each table of the vote score."""

    labels: Array  # int32, (n_queries, n_ranked), -1 where there is none
    bins: Array  # uint16, (n_queries, n_ranked, n_tables)


def find_candidates(
    found: Neighbours,
    labels: LabelRows,
    most_labels: int,
    selection: Selection,
    evidence: Sequence[Evidence],
    memory: int,
) -> Candidates:
    """Let the neighbours of some queries vote, and add what sources list for them.

    No row has more than `most_labels` labels.
    """
    n_queries, n_neighbors = found.ids.shape
    n_cuts, slots = len(selection.cuts), selection.n_candidates
    cuts = cupy.asarray(selection.cuts, dtype=cupy.int64)
    sizes = [(source.n_listed, len(source.tables)) for source in selection.sources]
    listed = _side_by_side([one.labels for one in evidence], n_queries, cupy.int32)
    bins = _side_by_side([one.bins for one in evidence], n_queries, cupy.uint16)
    n_listed = listed.shape[1]
    most = _most_voted(labels, min(n_neighbors, selection.cuts[-1]), most_labels) + n_listed
    pools, words = _pools(n_queries, most, n_cuts, memory)
    made = Candidates(
        cupy.empty((n_queries, selection.n_ranked), dtype=cupy.int32),
        cupy.empty((n_queries, selection.n_ranked, selection.n_tables), dtype=cupy.uint16),
    )
    launch(
        "candidates", "find_candidates", (pools.shape[0],),
        found.ids, found.similarities, *labels[:2], cuts, cupy.asarray(sizes, dtype=cupy.int64),
        listed, bins, cupy.int32(n_queries), cupy.int32(n_neighbors), cupy.int32(n_cuts),
        cupy.int32(len(sizes)), cupy.int32(n_listed), cupy.int32(bins.shape[1]),
        cupy.int32(selection.n_tables), cupy.int64(labels.n_labels),
        cupy.float64(selection.alpha), cupy.int32(slots), pools, cupy.int64(words),
        cupy.empty((n_queries, slots), dtype=cupy.uint64),
        *made,
    )  # fmt: skip
    return made


def _side_by_side(parts: list[Array], n_queries: int, dtype: Any) -> Array:
    """What sources say of each query in one row."""
    flat = [part.reshape(n_queries, -1).astype(dtype, copy=False) for part in parts]
    return cupy.concatenate([*flat, cupy.empty((n_queries, 0), dtype=dtype)], axis=1)


def score_candidates(
    candidates: Candidates, queries: QuantisedRows, ranker: Ranker, k: int
) -> Ranking:
    """Score the candidates of some queries: the best ``k``."""
    n_queries, n_ranked, n_tables = candidates.bins.shape
    best = (
        cupy.empty((n_queries, k), dtype=cupy.int64),
        cupy.empty((n_queries, k), dtype=cupy.float64),
    )
    launch(
        "scores", "score_candidates", (n_queries,),
        *candidates, *queries[:3], *ranker[:6], cupy.int32(n_ranked), cupy.int32(n_tables),
        cupy.int64(ranker.modelled.shape[0]), cupy.int32(ranker.shift), cupy.int32(k),
        cupy.empty((n_queries, n_ranked), dtype=cupy.uint64),
        cupy.empty((n_queries, k), dtype=cupy.uint64),
        cupy.empty((n_queries, k), dtype=cupy.int32),
        *best,
    )  # fmt: skip
    return Ranking(*best)


def ranking_bytes(selection: Selection, k: int) -> int:
    """Device memory that candidates and scores of one query take, beside that for votes."""
    listed = selection.n_ranked * (24 + 4 * selection.n_tables)
    return 8 * selection.n_candidates + listed + 28 * k + 1
