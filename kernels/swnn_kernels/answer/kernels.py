"""The entry points of all searches: load a query, find its neighbours, let them vote.

Records come as tables to every kernel here, see `_numba.struct_views`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swnn_kernels._numba import IS_FULL, inline, kernel, struct_view
from swnn_kernels.dtypes import Float64, Int64
from swnn_kernels.fixed_point import quantise_row
from swnn_kernels.heap import sort_best_first
from swnn_kernels.index.views import Postings, PrunedIndex
from swnn_kernels.neighbours.exhaustive import search_exhaustive
from swnn_kernels.neighbours.records import PruneBuffers, Query, QueryBuffers, Task
from swnn_kernels.records import Rows
from swnn_kernels.scales import VOTE_SCALE
from swnn_kernels.vote.labels import Labels
from swnn_kernels.vote.votes import vote

if IS_FULL:  # without vectors there is no pruned search
    from swnn_kernels.neighbours.pruned import search_pruned

BAD_IDS = -1
BAD_VALUES = -2

_open_postings, _open_index = struct_view(Postings), struct_view(PrunedIndex)
_open_buffers, _open_prune = struct_view(QueryBuffers), struct_view(PruneBuffers)
_open_labels, _open_rows, _open_task = struct_view(Labels), struct_view(Rows), struct_view(Task)


@inline
def _weigh(buffers, weights, size):  # type: ignore[no-untyped-def]
    """Multiply a query's values by its features' weights.

    Dividing by the largest magnitude first keeps the products from under- and overflowing.
    """
    largest = 0.0
    for p in range(size):
        largest = max(largest, abs(buffers.values[p]))
    for p in range(size):
        weight = weights[buffers.indices[p]]
        buffers.values[p] = buffers.values[p] / largest * weight


@inline
def load_raw(buffers, weights, n_features, indices, values):  # type: ignore[no-untyped-def]
    """Check a raw query and quantise it into the buffers; return its size, or a fault below 0.

    ``weights`` are the features' weights, or empty.
    """
    size = 0
    previous = np.int64(-1)
    for p in range(indices.size):
        feature = np.int64(indices[p])
        if feature <= previous or feature >= n_features:
            return BAD_IDS
        previous = feature
        if values[p] != 0.0:
            buffers.indices[size] = feature
            buffers.values[size] = values[p]
            size += 1
    if weights.size > 0:
        _weigh(buffers, weights, size)
    if not quantise_row(buffers.values, 0, size, buffers.quantised, 0):
        return BAD_VALUES
    return size


class RawQuery(NamedTuple):
    """Where a session puts a query as it came, with what belongs to every query.

    A session copies queries here: arrays of callers would come in many types, each compiled apart.
    """

    indices: Int64
    values: Float64
    weights: Float64  # of the features, or empty
    indptr: Int64  # (2,): pointers of the query once it is loaded
    n_features: int


_open_raw = struct_view(RawQuery)


@kernel
def load_query(buffers_table, raw_table, size):  # type: ignore[no-untyped-def]
    """Put the first ``size`` entries of a raw query into the buffers; return 0 or a fault."""
    raw = _open_raw(raw_table)
    indices, values = raw.indices[:size], raw.values[:size]
    kept = load_raw(_open_buffers(buffers_table), raw.weights, raw.n_features, indices, values)
    raw.indptr[0] = 0
    raw.indptr[1] = max(0, kept)
    return min(0, kept)


@inline
def _load_quantised(buffers, queries, q):  # type: ignore[no-untyped-def]
    """Put a canonical query into the buffers; return its size."""
    start, stop = queries.indptr[q], queries.indptr[q + 1]
    for p in range(start, stop):
        buffers.indices[p - start] = queries.indices[p]
        buffers.quantised[p - start] = queries.quantised[p]
    return stop - start


@inline
def _write_neighbours(buffers, found, ids, sims):  # type: ignore[no-untyped-def]
    """Copy the sorted neighbours into a row of results; missing ones are -1 and 0."""
    for i in range(ids.size):
        ids[i] = buffers.rows[i] if i < found else -1
        sims[i] = buffers.sims[i] if i < found else 0.0


@inline
def _write_labels(buffers, n_best, labels, scores):  # type: ignore[no-untyped-def]
    """Copy the best labels into a row of results; missing ones are -1 and 0."""
    for i in range(labels.size):
        labels[i] = buffers.best_labels[i] if i < n_best else -1
        scores[i] = buffers.best_sums[i] * (1.0 / VOTE_SCALE) if i < n_best else 0.0


@inline
def _write_answer(buffers, labels, task, found, out_ids, out_values):  # type: ignore[no-untyped-def]
    """Sort the neighbours and write them, or the labels they vote for."""
    sort_best_first(buffers.sims, buffers.rows, found)
    if task.wants_labels:
        n_best = vote(labels, buffers, buffers.rows, buffers.sims, found, task.alpha)
        _write_labels(buffers, n_best, out_ids, out_values)
    else:
        _write_neighbours(buffers, found, out_ids, out_values)


@kernel
def answer_exhaustive(  # type: ignore[no-untyped-def]
    postings_table, buffers_table, labels_table, task_table, queries_table, ids, values
):
    """Answer canonical queries by the exhaustive search."""
    postings, buffers = _open_postings(postings_table), _open_buffers(buffers_table)
    labels, task = _open_labels(labels_table), _open_task(task_table)
    queries = _open_rows(queries_table)
    for q in range(queries.indptr.size - 1):
        size = _load_quantised(buffers, queries, q)
        found = search_exhaustive(postings, buffers, task, size)
        _write_answer(buffers, labels, task, found, ids[q], values[q])


@kernel
def answer_pruned(  # type: ignore[no-untyped-def]
    index_table, buffers_table, prune_table, labels_table, task_table, queries_table, ids, values
):
    """Answer canonical queries by the pruned search."""
    index, buffers = _open_index(index_table), _open_buffers(buffers_table)
    prune, labels = _open_prune(prune_table), _open_labels(labels_table)
    task, queries = _open_task(task_table), _open_rows(queries_table)
    for q in range(queries.indptr.size - 1):
        size = _load_quantised(buffers, queries, q)
        query = Query(index, buffers, prune, task, size, buffers.sims.size, task.beta)
        found = search_pruned(query)
        _write_answer(buffers, labels, task, found, ids[q], values[q])
