"""The capped search: neighbours from a bounded number of postings, those of the rarest features.

A query's features are taken by rising number of rows (ties: smaller id) while their postings stay
within the cap; the first is always taken. The rows in these postings are ordered by their dot with
the query over these features (ties: smaller row), and the exact similarities of the best decide.
Better neighbours may be missing. The cost depends on the
cap and on the sizes of the rows, not on their number: nothing that has a slot for each row is
cleared or scanned.

The number of rows of each feature comes with the task: what is taken, and so the answer, does not
depend on how the rows are spread over indexes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swnn_kernels._numba import inline
from swnn_kernels._numba.intrinsics import prefetch
from swnn_kernels.fixed_point import similarity
from swnn_kernels.heap import pop, push
from swnn_kernels.index.arrays import Postings
from swnn_kernels.neighbours.records import QueryBuffers, Task
from swnn_kernels.neighbours.rescoring import lowest_in, nth_largest
from swnn_kernels.records import (
    COS_SCALE,
    Float,
    Float32,
    Float64,
    Int,
    Int32,
    Int64,
    QuantisedRows,
    Uint32,
)

_AHEAD = 2  # rows between prefetching a row's entries and their use
_LINE = 16  # entries in a cache line


class CapBuffers(NamedTuple):
    """Buffers of one thread for the capped search."""

    # The query.
    counts: Float64  # heap of its features, the rarest first
    positions: Int64  # their positions in the query, negative
    of_feature: Int32  # (n_features,): 2 * value + 1 of the query's features; zeros between queries
    # Rows.
    touched: Uint32  # (n_rows + 1,): rows in the postings, and a row written in vain
    rounded: Float32  # (n_rows,): their scores, 0 for a row that can't be found
    histogram: Int32  # (BUCKETS,): of these
    scores: Float64  # (n_rescored,): heap of the best rows
    rows: Int64
    sims: Float64


class CapQuery(NamedTuple):
    """One query in the capped search: struct views of what it works on, and its size."""

    forward: QuantisedRows
    postings: Postings
    buffers: QueryBuffers  # with the query in them
    own: CapBuffers
    task: Task
    size: Int


@inline
def _order_features(query: CapQuery) -> Int:
    """Put the query's features that rows have into a heap, the rarest first; return how many."""
    own, counts, n_features = query.own, query.task.counts, np.int64(0)
    for p in range(query.size):
        count = np.float64(counts[query.buffers.indices[p]])
        if count > 0:
            n_features = push(own.counts, own.positions, n_features, query.size, count, -p)
    return n_features


@inline
def _add_postings(query: CapQuery, position: Int, n_touched: Int) -> Int:
    """Add a feature's postings to the accumulators, 2 * dot + 1; return the rows touched so far."""
    postings, touched, accumulators = (
        query.postings, query.own.touched, query.buffers.accumulators,
    )  # fmt: skip
    feature = query.buffers.indices[position]
    weight = 2 * np.int64(query.buffers.quantised[position])
    for p in range(postings.indptr[feature], postings.indptr[feature + 1]):
        row = np.uint64(postings.rows[p])
        acc = accumulators[row]
        is_new = np.int64(acc == 0)
        touched[n_touched] = row
        n_touched += is_new
        accumulators[row] = acc + weight * np.int64(postings.quantised[p]) + is_new
    return n_touched


@inline
def _touch_rows(query: CapQuery) -> Int:
    """Add up the postings of the rarest features; return the number of rows touched."""
    own, n_touched = query.own, np.int64(0)
    n_features = _order_features(query)
    left = np.float64(query.task.postings)
    is_first = True
    while n_features > 0 and (is_first or own.counts[0] <= left):
        left -= own.counts[0]
        n_touched = _add_postings(query, -own.positions[0], n_touched)
        n_features = pop(own.counts, own.positions, n_features)
        is_first = False
    return n_touched


@inline
def _best_touched(query: CapQuery, n_touched: Int) -> Int:
    """Put the rows with the best scores into a heap; return their number."""
    own, removed, accumulators = query.own, query.task.removed, query.buffers.accumulators
    for i in range(n_touched):
        row = own.touched[i]
        score = np.float32(np.float64(accumulators[row] >> 1) * COS_SCALE)
        own.rounded[i] = np.float32(0.0) if removed.size > 0 and removed[row] else score
    bucket = nth_largest(own.rounded, n_touched, own.scores.size, own.histogram)
    lowest, kept = lowest_in(bucket), np.int64(0)
    for i in range(n_touched):
        row = np.int64(own.touched[i])
        dot = accumulators[row] >> 1
        accumulators[row] = 0
        if own.rounded[i] > np.float32(0.0) and own.rounded[i] >= lowest:
            kept = push(own.scores, own.rows, kept, own.scores.size, np.float64(dot), row)
    return kept


@inline
def _similarity_of(query: CapQuery, row: Int) -> Float:
    """Similarity of a row; the query's values are at ``of_feature``."""
    forward, of_feature = query.forward, query.own.of_feature
    dot, overlap = np.int64(0), np.int64(0)
    first, last = forward.indptr[row], forward.indptr[row + 1]
    for p in range(first, last):
        value = np.int64(of_feature[forward.indices[np.uint64(p)]])
        dot += (value >> 1) * np.int64(forward.quantised[np.uint64(p)])
        overlap += value & 1
    return similarity(dot, overlap, query.size, last - first, query.task.beta)


@inline
def best_by_score(query: CapQuery) -> Int:
    """Fill rows, scores and similarities of the rows with the best scores; return their number."""
    own, buffers, forward = query.own, query.buffers, query.forward
    kept = _best_touched(query, _touch_rows(query))
    for p in range(query.size):
        own.of_feature[buffers.indices[p]] = 2 * buffers.quantised[p] + 1
    for i in range(kept):
        if i + _AHEAD < kept:
            ahead = own.rows[i + _AHEAD]
            for p in range(forward.indptr[ahead], forward.indptr[ahead + 1], _LINE):
                prefetch(forward.indices, p)
                prefetch(forward.quantised, p)
        own.sims[i] = _similarity_of(query, own.rows[i])
    for p in range(query.size):
        own.of_feature[buffers.indices[p]] = 0
    return kept


@inline
def search_capped(query: CapQuery) -> Int:
    """Fill the heap with rows of a query; return their number."""
    kept, found, heap, own = best_by_score(query), np.int64(0), query.buffers, query.own
    for i in range(kept):
        if own.sims[i] > 0.0:
            found = push(heap.sims, heap.rows, found, heap.sims.size, own.sims[i], own.rows[i])
    return found
