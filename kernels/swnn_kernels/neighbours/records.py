"""Records of the search for one query's neighbours: buffers, the query, what is derived from it.

The sizes of these buffers, which the pruned search relies on, come first.
"""

from __future__ import annotations

from typing import NamedTuple

from swnn_kernels.index.arrays import PrunedIndex
from swnn_kernels.records import (
    Float,
    Float32,
    Float64,
    Int,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
)

PACK_BITS = 16
PACK = 1 << PACK_BITS
"""One accumulator holds dot * PACK + overlap while the overlap stays below PACK."""
OVERLAP_MASK = PACK - 1
LONGEST_QUERY = 20_000
"""Up to this many features, sums of weights are sure to fit 16 planes."""

LANES = 8
"""Rows whose float32 values a vector holds."""
CHUNK = 16384
"""Rows whose accumulators stay in the cache at a time."""
FIRST = 65536
"""Up to this many rows, all bounds are stored to find a first threshold: of more, a chunk's."""
SUMS = FIRST + 640
"""Distance of the four parts of the row sums: at a power of two they would evict each other."""
CANDIDATES = 8192
"""Slots for candidates that wait for rescoring."""
BUCKETS = 1024
"""Buckets of upper bounds, to order candidates by."""

PLANES = 16
"""Largest number of planes of a vertical counter."""
SIGNIFICANT = 4
"""Largest number of significant bits of a weight."""
WEIGHT_CLASSES = PLANES << (SIGNIFICANT - 1)
"""A power of two, more than there are weights of at most SIGNIFICANT bits."""
GROUP = 15
"""Largest number of bitmaps that are counted together."""
GROUP_PLANES = 4
BLOCK = 8
"""Steps whose groups are counted at a time."""


def groups_of(longest: int) -> int:
    """Largest number of groups of a query's bitmaps: the last one of each weight may be small."""
    return 2 * longest // GROUP + 2 * WEIGHT_CLASSES


class QueryBuffers(NamedTuple):
    """Buffers of one thread for any search; between queries the accumulators hold zeros."""

    values: Float64  # the query's values before quantisation
    indices: Int32  # the query's features
    quantised: Int32  # and their quantised values
    accumulators: Int64  # (n_rows,): dot * PACK + overlap
    overlaps: Int32  # (n_rows,) where overlaps may not fit 16 bits, else empty
    sims: Float64  # heap of the neighbours found
    rows: Int64
    slot_labels: Int64  # a power of two: hash table of votes
    slot_sums: Int64
    best_sums: Int64  # heap of the best labels
    best_labels: Int64


class PruneBuffers(NamedTuple):
    """Buffers of one thread for the pruned search."""

    # The query by frequent id and by key; zeros between queries.
    query_quantised: Int32  # the query's value of a frequent feature
    is_in_query: Uint8
    key_weights: Uint16  # what an entry of a key adds to a row's sum of weights
    # The query's features.
    list_cursor: Int64  # position in the list of each feature that has one
    list_end: Int64
    list_weight: Int64  # the feature's value times PACK
    frequent_ids: Int64
    positive_sum: Int64  # (1,): sum of its positive values of frequent features
    max_frequent_dot: Float64  # (1,): most that they add to a row's dot over its scale
    max_feature_dot: Float64  # (1,): most that one of them adds
    # Sums over bitmaps, see bitslice.py.
    bitmap_offsets: Int64  # first bitmap of each frequent feature
    bitmap_weights: Int64  # of the first and second bitmaps in turn
    class_ends: Int64  # where the bitmaps of each weight class end
    sorted_bitmaps: Int64  # bitmaps by weight
    group_ends: Int64  # where each group of them ends
    n_groups: Int64  # (1,)
    group_counts: Uint64  # four planes for each group
    overlap_lines: Int64  # planes of groups by their weight in the overlap
    overlap_indptr: Int64  # (PLANES + 2,)
    weight_lines: Int64  # and in the sum of weights
    weight_indptr: Int64  # (PLANES + 2,)
    weight_step: Float64  # (1,): a step of weight in units of dots over scales
    planes: Uint64  # vertical counters
    carries: Uint64  # their queues
    carry_lines: Int64  # 0, 8, 16, ...
    # Bounds of rows.
    row_sums: Uint8  # (4 * SUMS,): overlaps and weights of rows, low and high bytes
    masks: Uint8  # (STEP_ROWS / 8,): which rows of a step pass
    upper_bounds: Float32  # (FIRST,)
    maxima: Float32  # of eight upper_bounds, then of eight of these
    touched: Uint32  # (n_rows + 1,): rows that share a listed feature, and a row written in vain
    # Candidates.
    candidate_rows: Int64
    candidate_overlaps: Int64
    candidate_accumulators: Int64
    candidate_bound_steps: Int64
    candidate_bounds: Float32
    histogram: Int32
    order: Int32  # candidates in the order of rescoring
    # Counters (1,).
    postings_read: Int64
    bitmaps_read: Int64
    rows_rescored: Int64
    sparse_credit: Int64  # negative after failures of the sparse path


class Task(NamedTuple):
    """What to do with each query of a batch or session."""

    alpha: float
    beta: float
    wants_labels: int
    removed: Uint8  # (n_rows,), or empty
    postings: int  # that the capped search may add up; 0 for the other searches
    counts: Int64  # (n_features,): rows of each feature, for the capped search, or empty


class Query(NamedTuple):
    """One query in the pruned search: struct views of what it works on, and its numbers."""

    index: PrunedIndex  # type: ignore[assignment]  # hides a method of tuples
    buffers: QueryBuffers  # with the query in them
    prune: PruneBuffers
    task: Task
    size: Int
    n_neighbors: Int
    beta: Float


class Plan(NamedTuple):
    """A query's features, sorted into those with postings lists and the frequent ones."""

    n_listed: Int
    n_frequent: Int
    n_postings: Int  # of the lists
    squared_norm: Int  # sum of squares of the frequent features' values


class Candidate(NamedTuple):
    """A row that may be a neighbour; an overlap or bound_steps of -1 is not known."""

    row: Int
    overlap: Int
    accumulator: Int  # exact dot and overlap over the postings lists
    bound_steps: Int  # upper bound on the rest of the dot, in steps of weight
    bound: Float  # upper bound on the similarity


class RowSlots(NamedTuple):
    """A row, or the first of eight, and where its sums and its accumulator are."""

    row: Int
    in_sums: Int
    in_accumulators: Int


class Sweep(NamedTuple):
    """State of the dense path's sweep over all rows."""

    overlap_planes: Int  # 0 if nothing depends on overlaps
    weight_planes: Int
    weight_step: Float
    origin: Int  # row of the first accumulator
    threshold: Float
    is_storing: bool  # whether upper bounds are stored, or compared with the threshold
