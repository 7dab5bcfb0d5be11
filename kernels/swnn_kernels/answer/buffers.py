"""Buffers of one thread, allocated once and reused for every query."""

from __future__ import annotations

import numpy as np

from swnn_kernels.dtypes import aligned_zeros
from swnn_kernels.index.geometry import STEP_ROWS, STEP_WORDS
from swnn_kernels.index.hybrid import HybridIndex
from swnn_kernels.neighbours.records import PruneBuffers, QueryBuffers
from swnn_kernels.neighbours.sizes import (
    BLOCK,
    BUCKETS,
    CANDIDATES,
    CHUNK,
    FIRST,
    GROUP,
    GROUP_PLANES,
    LANES,
    PACK,
    PLANES,
    SIGNIFICANT,
    SUMS,
    WEIGHT_CLASSES,
    groups_of,
)
from swnn_kernels.vote.labels import Labels
from swnn_kernels.vote.votes import vote_buffers

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
        **vote_buffers(labels.most_voted(found), k)._asdict(),
    )


def _integers(size: int) -> np.ndarray:
    return np.zeros(size, dtype=np.int64)


def _floats(size: int) -> np.ndarray:
    return aligned_zeros(size, np.float32)


def _words(lines: int) -> np.ndarray:
    return aligned_zeros(lines * STEP_WORDS, np.uint64)


def prune_buffers(index: HybridIndex, longest: int, budget: int) -> PruneBuffers:
    """Buffers of the pruned search for queries of at most ``longest`` features."""
    n_scores = index.stored.row_sizes.size if budget >= 0 else 0
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
        scores=_floats(n_scores),
        maxima=_floats(max(FIRST, n_scores) // LANES * 9 // 8),
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
        n_unresolved=_integers(1),
    )
