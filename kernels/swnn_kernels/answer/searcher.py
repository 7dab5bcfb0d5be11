"""A search with its buffers, ready to answer queries: one for each thread.

Which search answers, pruned or exhaustive, is decided once for an index, its settings and the
longest query; buffers are allocated once and reused for every query.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from swnn_kernels._numba import Table, table
from swnn_kernels.answer import kernels
from swnn_kernels.index.arrays import STEP_ROWS, STEP_WORDS
from swnn_kernels.index.hybrid import HybridIndex
from swnn_kernels.neighbours.capped import CapBuffers
from swnn_kernels.neighbours.records import (
    BLOCK,
    BUCKETS,
    CANDIDATES,
    CHUNK,
    FIRST,
    GROUP,
    GROUP_PLANES,
    LANES,
    LONGEST_QUERY,
    PACK,
    PLANES,
    SIGNIFICANT,
    SUMS,
    WEIGHT_CLASSES,
    PruneBuffers,
    QueryBuffers,
    Task,
    groups_of,
)
from swnn_kernels.records import QuantisedRows, aligned_zeros
from swnn_kernels.vote import Labels, vote_buffers

METHODS = ("auto", "exhaustive", "pruned")
_FEW = 20  # with more than every 20th row as neighbour there is little to prune


def is_pruned(index: HybridIndex, method: str, n_neighbors: int, longest: int) -> bool:
    """Whether the pruned search answers queries of at most ``longest`` features.

    It holds overlaps in 16 bits: where they might not fit, the exhaustive search answers.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    fits = longest <= LONGEST_QUERY and (longest < PACK or index.largest_row < PACK)
    if method == "auto":
        few = n_neighbors * _FEW <= index.n_rows or not index.stored.frequent_features.size
        return fits and few
    return fits and method == "pruned"


def room_for(size: int, n_features: int) -> int:
    """Length of queries to allocate buffers for, once a query of this size has come.

    Twice as much as it needs; but beyond the longest query of the pruned search the slower
    exhaustive one would answer all.
    """
    room = min(2 * size, n_features)
    return min(room, LONGEST_QUERY) if size <= LONGEST_QUERY else room


_KEYS = 2**16  # a slot for any 16-bit key: a damaged forward row cannot lead beyond


def query_buffers(
    index: HybridIndex, labels: Labels, n_neighbors: int, k: int, longest: int
) -> QueryBuffers:
    """Buffers for queries of at most ``longest`` features, ``n_neighbors`` rows and k labels."""
    n_rows = index.n_rows
    found = min(n_neighbors, n_rows)
    is_wide = longest >= PACK and index.largest_row >= PACK
    return QueryBuffers(
        values=np.empty(longest),
        indices=np.empty(longest, dtype=np.int32),
        quantised=np.empty(longest, dtype=np.int32),
        accumulators=aligned_zeros(max(index.stored.row_sizes.size, CHUNK), np.int64),
        overlaps=np.zeros(n_rows if is_wide else 0, dtype=np.int32),
        sims=np.empty(found),
        rows=np.empty(found, dtype=np.int64),
        **vote_buffers(labels.max_voted(found), k)._asdict(),
    )


def _integers(size: int) -> np.ndarray:
    return np.zeros(size, dtype=np.int64)


def _floats(size: int) -> np.ndarray:
    return aligned_zeros(size, np.float32)


def _words(lines: int) -> np.ndarray:
    return aligned_zeros(lines * STEP_WORDS, np.uint64)


def prune_buffers(index: HybridIndex, longest: int) -> PruneBuffers:
    """Buffers of the pruned search for queries of at most ``longest`` features."""
    groups = groups_of(longest)
    summands = groups * GROUP_PLANES * SIGNIFICANT
    room = summands // 6 + 64  # carries are an eighth of the lines added, carries included
    return PruneBuffers(
        query_quantised=np.zeros(_KEYS // 2, dtype=np.int32),
        is_in_query=np.zeros(_KEYS // 2, dtype=np.uint8),
        key_weights=np.zeros(_KEYS, dtype=np.uint16),
        list_cursor=_integers(longest + 1),
        list_end=_integers(longest + 1),
        list_weight=_integers(longest + 1),
        frequent_ids=_integers(longest),
        positive_sum=_integers(1),
        max_frequent_dot=np.zeros(1),
        max_feature_dot=np.zeros(1),
        bitmap_offsets=_integers(longest),
        bitmap_weights=_integers(2 * longest),
        class_ends=_integers(2 * WEIGHT_CLASSES),
        sorted_bitmaps=_integers(2 * longest + GROUP),
        group_ends=_integers(groups),
        n_groups=_integers(1),
        group_counts=_words(BLOCK * groups * GROUP_PLANES),
        overlap_lines=_integers(groups * GROUP_PLANES),
        overlap_indptr=_integers(PLANES + 2),
        weight_lines=_integers(summands),
        weight_indptr=_integers(PLANES + 2),
        weight_step=np.zeros(1),
        planes=_words(PLANES),
        carries=_words(4 * room),
        carry_lines=np.arange(room, dtype=np.int64) * STEP_WORDS,
        row_sums=aligned_zeros(4 * SUMS, np.uint8),
        masks=np.zeros(STEP_ROWS // LANES, dtype=np.uint8),
        upper_bounds=_floats(FIRST),
        maxima=_floats(FIRST // LANES * 9 // 8),
        touched=np.zeros(index.n_rows + 1, dtype=np.uint32),
        candidate_rows=_integers(CANDIDATES),
        candidate_overlaps=_integers(CANDIDATES),
        candidate_accumulators=_integers(CANDIDATES),
        candidate_bound_steps=_integers(CANDIDATES),
        candidate_bounds=_floats(CANDIDATES),
        histogram=np.zeros(BUCKETS, dtype=np.int32),
        order=np.zeros(CANDIDATES, dtype=np.int32),
        postings_read=_integers(1),
        bitmaps_read=_integers(1),
        rows_rescored=_integers(1),
        sparse_credit=_integers(1),
    )


def cap_buffers(index: HybridIndex, longest: int, n_rescored: int) -> CapBuffers:
    """Buffers of the capped search for queries of at most ``longest`` features."""
    kept = min(n_rescored, index.n_rows)
    return CapBuffers(
        counts=np.empty(longest),
        positions=_integers(longest),
        of_feature=np.zeros(index.n_features, dtype=np.int32),
        touched=np.zeros(index.n_rows + 1, dtype=np.uint32),
        rounded=np.zeros(index.n_rows, dtype=np.float32),
        histogram=np.zeros(BUCKETS, dtype=np.int32),
        scores=np.empty(kept),
        rows=_integers(kept),
        sims=np.empty(kept),
    )


class Searcher:
    """Buffers for queries of at most ``longest`` features and answers of at most k labels."""

    def __init__(
        self, index: HybridIndex, labels: Labels, method: str, n_neighbors: int, k: int,
        longest: int, n_rescored: int = 0,
    ) -> None:  # fmt: skip
        self.k, self.longest = k, longest
        self.made_for = labels, method, n_neighbors, k, n_rescored
        self.is_pruned = not n_rescored and is_pruned(index, method, n_neighbors, longest)
        self.buffers = query_buffers(index, labels, n_neighbors, k, longest)
        self.buffers_table = table(self.buffers)
        self.prune: PruneBuffers | None = None
        self._answer: Any = kernels.answer_exhaustive
        self._call: Any = kernels.ExhaustiveCall
        if n_rescored:
            self.capped = cap_buffers(index, longest, n_rescored)
            rows = table(index.forward), table(index.postings)
            own: tuple[Any, ...] = *rows, self.buffers_table, table(self.capped)
            self._answer, self._call = kernels.answer_capped, kernels.CappedCall
        elif self.is_pruned:
            self.prune = prune_buffers(index, longest)
            own = index.pruned_table, self.buffers_table, table(self.prune)
            self._answer, self._call = kernels.answer_pruned, kernels.PrunedCall
        else:
            own = table(index.postings), self.buffers_table
        self._tables = *own, table(labels)

    def answer(
        self,
        task_table: Table[Task],
        queries_table: Table[QuantisedRows],
        out: tuple[np.ndarray, ...],
    ) -> None:
        """Answer queries into the two arrays of ``out``; into three, a shortlist with scores."""
        self.bind(task_table, queries_table, out, kernels.NO_RAW_QUERY)(-1)

    def bind(
        self,
        task_table: Table[Task],
        queries_table: Table[QuantisedRows],
        out: tuple[np.ndarray, ...],
        raw: kernels.RawQuery,
    ) -> Callable[[int], int]:
        """Bind the arguments of `answer`, for a caller who answers many times into ``out``.

        The function takes the size of the raw query, -1 for canonical queries, and returns a fault.
        """
        flat = [part.reshape(-1) for part in out]
        call = self._call(*self._tables, task_table, queries_table, table(raw), *flat[:2])
        if len(flat) == 2:
            return partial(self._answer, table(call))
        return partial(kernels.shortlist, table(kernels.ShortlistCall(table(call), flat[2])))
