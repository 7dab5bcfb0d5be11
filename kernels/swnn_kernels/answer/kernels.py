"""The entry points of all searches: load a query, find its neighbours, let them vote.

All that a kernel works on comes in one record, as its table (see `_numba.struct_views`): every
further argument would cost a call from Python a tenth of a microsecond.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swnn_kernels._numba import Table, inline, kernel, struct_view
from swnn_kernels.fixed_point import quantise_row
from swnn_kernels.heap import sort_best_first
from swnn_kernels.index.arrays import Postings, PrunedIndex
from swnn_kernels.neighbours.capped import CapBuffers, CapQuery, best_by_score, search_capped
from swnn_kernels.neighbours.exhaustive import search_exhaustive
from swnn_kernels.neighbours.pruned import search_pruned
from swnn_kernels.neighbours.records import PruneBuffers, Query, QueryBuffers, Task
from swnn_kernels.records import VOTE_SCALE, Float64, Int, Int64, QuantisedRows, Uint8, frozen
from swnn_kernels.vote import Labels, vote

BAD_IDS = -1
BAD_VALUES = -2
UNCHECKED = 1
"""What may be wrong with a raw query, and what has to be done before it is answered."""


class RawQuery(NamedTuple):
    """Where a session puts a query as it came, with what belongs to every query.

    A session copies queries here: callers' arrays have many types, each of which would be compiled.
    """

    indices: Int64
    values: Float64
    weights: Float64  # of the features, or empty
    is_checked: Uint8  # whether a feature's postings list is sound, or empty if all are
    indptr: Int64  # (2,): pointers of the query once it is loaded
    n_features: int


_NOTHING = np.zeros(0, np.int64), np.zeros(0), frozen(np.zeros(0)), frozen(np.zeros(0, np.uint8))
NO_RAW_QUERY = RawQuery(*_NOTHING, np.zeros(2, np.int64), 0)
"""For calls that answer canonical queries."""


class ExhaustiveCall(NamedTuple):
    """Queries, what the exhaustive search needs to answer them, and where answers go."""

    postings: Postings
    buffers: QueryBuffers
    labels: Labels
    task: Task
    queries: QuantisedRows
    raw: RawQuery
    ids: Int64  # answers of all queries, one after the other
    values: Float64


class PrunedCall(NamedTuple):
    """Queries, what the pruned search needs to answer them, and where answers go."""

    pruned: PrunedIndex
    buffers: QueryBuffers
    prune: PruneBuffers
    labels: Labels
    task: Task
    queries: QuantisedRows
    raw: RawQuery
    ids: Int64  # answers of all queries, one after the other
    values: Float64


class CappedCall(NamedTuple):
    """Queries, what the capped search needs to answer them, and where answers go."""

    forward: QuantisedRows
    postings: Postings
    buffers: QueryBuffers
    own: CapBuffers
    labels: Labels
    task: Task
    queries: QuantisedRows
    raw: RawQuery
    ids: Int64  # answers of all queries, one after the other
    values: Float64


class ShortlistCall(NamedTuple):
    """A capped call whose answers are the rows with the best scores, and these scores."""

    call: CappedCall
    scores: Float64


_open_exhaustive, _open_pruned = struct_view(ExhaustiveCall), struct_view(PrunedCall)
_open_capped, _open_shortlist = struct_view(CappedCall), struct_view(ShortlistCall)


@inline
def _scale_by_weights(buffers: QueryBuffers, weights: Float64, size: Int) -> None:
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
def load_raw(
    buffers: QueryBuffers, weights: Float64, n_features: Int, indices: Int64, values: Float64
) -> Int:
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
        _scale_by_weights(buffers, weights, size)
    if not quantise_row(buffers.values, 0, size, buffers.quantised, 0):
        return BAD_VALUES
    return size


@inline
def _load(call: ExhaustiveCall | PrunedCall | CappedCall, size: Int) -> Int:
    """Put the first ``size`` entries of the raw query into the buffers, as the only query.

    Returns a fault below 0, UNCHECKED if a postings list has yet to be checked, or 0. With a size
    of -1, queries are canonical and there is nothing to do.
    """
    if size < 0:
        return 0
    raw = call.raw
    indices, values = raw.indices[:size], raw.values[:size]
    kept = load_raw(call.buffers, raw.weights, raw.n_features, indices, values)
    if kept < 0:
        return kept
    for p in range(size if raw.is_checked.size > 0 else 0):
        if raw.is_checked[indices[p]] == 0:
            return UNCHECKED
    raw.indptr[0], raw.indptr[1] = 0, kept
    return 0


@inline
def _load_quantised(buffers: QueryBuffers, queries: QuantisedRows, q: Int) -> Int:
    """Put a canonical query into the buffers; return its size."""
    start, stop = queries.indptr[q], queries.indptr[q + 1]
    for p in range(start, stop):
        buffers.indices[p - start] = queries.indices[p]
        buffers.quantised[p - start] = queries.quantised[p]
    return stop - start


@inline
def _write_neighbours(buffers: QueryBuffers, found: Int, ids: Int64, sims: Float64) -> None:
    """Copy the sorted neighbours into a row of results; missing ones are -1 and 0."""
    for i in range(ids.size):
        ids[i] = buffers.rows[i] if i < found else -1
        sims[i] = buffers.sims[i] if i < found else 0.0


@inline
def _write_labels(buffers: QueryBuffers, n_best: Int, labels: Int64, scores: Float64) -> None:
    """Copy the best labels into a row of results; missing ones are -1 and 0."""
    for i in range(labels.size):
        labels[i] = buffers.best_labels[i] if i < n_best else -1
        scores[i] = buffers.best_sums[i] * (1.0 / VOTE_SCALE) if i < n_best else 0.0


@inline
def _write_answer(call: ExhaustiveCall | PrunedCall | CappedCall, q: Int, found: Int) -> None:
    """Sort the neighbours and write them, or the labels they vote for."""
    buffers, task = call.buffers, call.task
    width = call.ids.size // (call.queries.indptr.size - 1)
    ids, values = call.ids[q * width : (q + 1) * width], call.values[q * width : (q + 1) * width]
    sort_best_first(buffers.sims, buffers.rows, found)
    if task.wants_labels:
        n_best = vote(call.labels, buffers, buffers.rows, buffers.sims, found, task.alpha)
        _write_labels(buffers, n_best, ids, values)
    else:
        _write_neighbours(buffers, found, ids, values)


@kernel
def answer_exhaustive(call_table: Table[ExhaustiveCall], size: Int) -> Int:
    """Answer canonical queries by the exhaustive search, or the raw one if its size is not -1.

    Returns what `_load` does.
    """
    call = _open_exhaustive(call_table)
    fault = _load(call, size)
    if fault != 0:
        return fault
    for q in range(call.queries.indptr.size - 1):
        loaded = _load_quantised(call.buffers, call.queries, q)
        found = search_exhaustive(call.postings, call.buffers, call.task, loaded)
        _write_answer(call, q, found)
    return fault


@inline
def _query(call: PrunedCall, q: Int) -> Query:
    """Load a canonical query."""
    buffers, task = call.buffers, call.task
    loaded = _load_quantised(buffers, call.queries, q)
    return Query(call.pruned, buffers, call.prune, task, loaded, buffers.sims.size, task.beta)


@kernel
def answer_pruned(call_table: Table[PrunedCall], size: Int) -> Int:
    """Answer canonical queries by the pruned search, or the raw one if its size is not -1.

    Returns what `_load` does.
    """
    call = _open_pruned(call_table)
    fault = _load(call, size)
    if fault != 0:
        return fault
    for q in range(call.queries.indptr.size - 1):
        _write_answer(call, q, search_pruned(_query(call, q)))
    return fault


@inline
def _cap_query(call: CappedCall, q: Int) -> CapQuery:
    """Load a canonical query."""
    loaded = _load_quantised(call.buffers, call.queries, q)
    return CapQuery(call.forward, call.postings, call.buffers, call.own, call.task, loaded)


@kernel
def answer_capped(call_table: Table[CappedCall], size: Int) -> Int:
    """Answer canonical queries by the capped search, or the raw one if its size is not -1.

    Returns what `_load` does.
    """
    call = _open_capped(call_table)
    fault = _load(call, size)
    if fault != 0:
        return fault
    for q in range(call.queries.indptr.size - 1):
        _write_answer(call, q, search_capped(_cap_query(call, q)))
    return fault


@inline
def _write_shortlist(short: ShortlistCall, q: Int, kept: Int) -> None:
    """Copy rows, similarities and scores; missing ones are -1 and 0."""
    call, own = short.call, short.call.own
    width = own.rows.size
    for i in range(width):
        at = q * width + i
        call.ids[at] = own.rows[i] if i < kept else -1
        call.values[at] = own.sims[i] if i < kept else 0.0
        short.scores[at] = own.scores[i] if i < kept else 0.0


@kernel
def shortlist(call_table: Table[ShortlistCall], size: Int) -> Int:
    """Find the rows with the best scores of canonical queries, or of the raw one; see above."""
    short = _open_shortlist(call_table)
    fault = _load(short.call, size)
    if fault != 0:
        return fault
    for q in range(short.call.queries.indptr.size - 1):
        _write_shortlist(short, q, best_by_score(_cap_query(short.call, q)))
    return fault
