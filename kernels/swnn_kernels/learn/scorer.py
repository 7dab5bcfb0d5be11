"""Label models as a query meets them: sparse, and dense rows for the labels with most weights.

A sparse model is walked from end to end, though the query has few of its features. In a dense row
only the query's features are looked up. Dense rows hold the features on which most labels have
weights, in that order, so that what queries look up most shares cache lines. Weights on all other
features are kept by feature: the query's few features of that kind add theirs to all labels at
once. Bounds on a label's score would save nothing: nearly every candidate's weights are large
enough to lift it to the top.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from swnn_kernels._numba import inline, prefetch
from swnn_kernels.records import Bool, Int, Int16, Int32, Int64, Uint8, aligned_zeros, frozen

LINE_COLUMNS = 32
"""Columns of a dense row in a cache line."""
_LINE = 64  # bytes of a cache line
_LINES = 4, 2  # of features and of weights that are prefetched: the hardware finds the rest
_SPARSE_BYTES, _DENSE_BYTES = 6, 2  # of a weight
_SPARSEST = 64  # a dense row holds at least one weight for this many columns
_MAX_COLUMNS = 4096  # on EURLEX57K, five of six features of a query are among them
_MAX_ADDED = 4096  # weights by feature that a query adds: with more it walks sparse models


class Ranker(NamedTuple):
    """Label models and vote score, as they are stored."""

    indptr: Int64  # (n_labels + 1,)
    features: Int32  # (nnz,), ascending in a label
    weights: Int16  # (nnz,)
    biases: Int64  # (n_labels,), in steps of 2**-38; also of labels without a model
    modelled: Uint8  # (n_labels,): 0 where the vote score stands alone
    tables: Int64  # (2 * n_cuts * N_BINS,): for labels without a model, then for those with one
    shift: int  # turns the step of a product weight * value into that of a score


class Scorer(NamedTuple):
    """A ranker, and its labels with most weights in another form."""

    indptr: Int64
    features: Int32
    weights: Int16
    biases: Int64
    modelled: Uint8
    tables: Int64
    shift: int
    n_features: int
    columns: Int32  # (n_features,): column of a feature; from n_columns on it is in no dense row
    n_columns: int
    dense_rows: Int32  # (n_labels,): number of a label's dense row, or -1
    dense: Int16  # (n_dense * n_columns,)
    rest_indptr: Int64  # (n_features + 1,): other weights of the labels with dense rows
    rest_labels: Int32
    rest_weights: Int16

    @classmethod
    def prepare(cls, ranker: Ranker, n_features: int) -> Self:
        """Make dense rows for the labels with most weights, once for all later calls.

        Dense rows together take no more memory than the sparse models.

        Examples
        --------
        >>> ranker = Ranker(np.array([0, 1, 3]), np.array([2, 0, 2], np.int32),
        ...                 np.array([5, 6, 7], np.int16), np.zeros(2, np.int64),
        ...                 np.ones(2, np.uint8), np.zeros(2 * 1281, np.int64), 0)
        >>> scorer = Scorer.prepare(ranker, 3)
        >>> scorer.columns.tolist(), scorer.n_columns, scorer.dense_rows.tolist()
        ([1, 2, 0], 32, [-1, -1])
        """
        n_columns = min(-(-n_features // LINE_COLUMNS) * LINE_COLUMNS, _MAX_COLUMNS)
        sizes = np.diff(ranker.indptr)
        room = _SPARSE_BYTES * ranker.weights.size // (_DENSE_BYTES * max(1, n_columns))
        largest = np.argsort(-sizes, kind="stable")[:room]
        largest = largest[sizes[largest] * _SPARSEST >= max(1, n_columns)]
        return cls.with_dense_rows(ranker, n_features, n_columns, largest)

    @classmethod
    def with_dense_rows(
        cls, ranker: Ranker, n_features: int, n_columns: int, labels: np.ndarray
    ) -> Self:
        """Make dense rows for some labels."""
        columns = _columns(ranker.features, n_features)
        dense_rows = np.full(ranker.modelled.size, -1, np.int32)
        dense_rows[labels] = np.arange(labels.size)
        of_label = np.repeat(np.arange(ranker.modelled.size), np.diff(ranker.indptr))
        has_row, at = dense_rows[of_label] >= 0, columns[ranker.features]
        inside = np.flatnonzero(has_row & (at < n_columns))
        dense = aligned_zeros(labels.size * n_columns, np.int16)
        starts = dense_rows[of_label[inside]].astype(np.int64) * n_columns
        dense[starts + at[inside]] = ranker.weights[inside]
        rest = np.flatnonzero(has_row & (at >= n_columns))
        rest = rest[np.argsort(ranker.features[rest], kind="stable")]
        counts = np.bincount(ranker.features[rest], minlength=n_features)
        arrays: dict[str, Any] = ranker._asdict() | {
            "columns": columns,
            "dense_rows": dense_rows,
            "dense": dense,
            "rest_indptr": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            "rest_labels": of_label[rest].astype(np.int32),
            "rest_weights": ranker.weights[rest],
        }
        del arrays["shift"]
        stored = {name: frozen(array) for name, array in arrays.items()}
        return cls(**stored, shift=ranker.shift, n_features=n_features, n_columns=n_columns)


def _columns(features: np.ndarray, n_features: int) -> np.ndarray:
    """Columns of the features, those with most weights first."""
    columns = np.empty(n_features, np.int32)
    order = np.argsort(-np.bincount(features, minlength=n_features), kind="stable")
    columns[order] = np.arange(n_features)
    return columns


class QueryEntries(NamedTuple):
    """One of several queries: its features and quantised values at first..last."""

    indices: Int32
    quantised: Int32
    first: Int
    last: Int


class LookUps(NamedTuple):
    """A query as dense rows meet it, in buffers of one thread."""

    columns: Int32  # (n,)
    values: Int32  # (n,)
    lines: Int32  # (n_lines,): first columns of the cache lines that hold these columns
    is_marked: Uint8  # for each line, zeros between queries
    sums: Int64  # (n_labels,): sums over features that are in no column, zeros between queries
    sizes: Int64  # (3,): n, n_lines, and 1 if dense rows are used for this query


def look_up_buffers(longest: int, scorer: Scorer) -> LookUps:
    """Buffers for queries of at most ``longest`` features."""
    n_lines = scorer.n_columns // LINE_COLUMNS + 1
    return LookUps(
        columns=np.zeros(longest, np.int32),
        values=np.zeros(longest, np.int32),
        lines=np.zeros(n_lines + 1, np.int32),
        is_marked=np.zeros(n_lines, np.uint8),
        sums=np.zeros(scorer.modelled.size, np.int64),
        sizes=np.zeros(3, np.int64),
    )


@inline
def _mark_lines(look_ups: LookUps, n: Int) -> Int:
    """List the cache lines of the columns, each once; return their number."""
    n_lines = np.int64(0)
    for i in range(n):
        line = np.int64(look_ups.columns[i]) // LINE_COLUMNS
        look_ups.lines[n_lines] = line * LINE_COLUMNS
        n_lines += 1 - np.int64(look_ups.is_marked[line])
        look_ups.is_marked[line] = 1
    for i in range(n_lines):
        look_ups.is_marked[look_ups.lines[i] // LINE_COLUMNS] = 0
    return n_lines


@inline
def prefetch_columns(scorer: Scorer, indices: Int64) -> None:
    """Prefetch the pointers to the weights of a query's features."""
    for feature in indices:
        prefetch(scorer.columns, feature)
        prefetch(scorer.rest_indptr, feature)


@inline
def begin_look_ups(scorer: Scorer, query: QueryEntries, look_ups: LookUps) -> None:
    """Prepare the look-ups of a query."""
    indices, quantised, first, last = query
    n, n_added = np.int64(0), np.int64(0)
    for p in range(first, last):
        feature = np.int64(indices[p])
        column = np.int64(scorer.columns[feature])
        look_ups.columns[n] = column
        look_ups.values[n] = quantised[p]
        n += np.int64(column < scorer.n_columns)
        start, stop = scorer.rest_indptr[feature], scorer.rest_indptr[feature + 1]
        n_added += stop - start
        stop = stop if n_added <= _MAX_ADDED else start  # then none is read
        for i in range(start, stop, _LINE // 4):
            prefetch(scorer.rest_labels, i)
        for i in range(start, stop, _LINE // 2):
            prefetch(scorer.rest_weights, i)
    look_ups.sizes[0], look_ups.sizes[1] = n, _mark_lines(look_ups, n)
    look_ups.sizes[2] = np.int64(n_added <= _MAX_ADDED)
    for p in range(first, last if n_added <= _MAX_ADDED else first):
        value, feature = np.int64(quantised[p]), np.int64(indices[p])
        for i in range(scorer.rest_indptr[feature], scorer.rest_indptr[feature + 1]):
            look_ups.sums[scorer.rest_labels[i]] += value * np.int64(scorer.rest_weights[i])


@inline
def end_look_ups(scorer: Scorer, query: QueryEntries, look_ups: LookUps) -> None:
    """Set the sums to zeros again."""
    indices, _, first, last = query
    for p in range(first, last if look_ups.sizes[2] else first):
        feature = np.int64(indices[p])
        for i in range(scorer.rest_indptr[feature], scorer.rest_indptr[feature + 1]):
            look_ups.sums[scorer.rest_labels[i]] = 0


@inline
def _walk(scorer: Scorer, label: Int, scattered: Int32) -> Int:
    """Exact dot product of a label's weights and a query that lies scattered over all features."""
    total = np.int64(0)
    for p in range(np.uint64(scorer.indptr[label]), np.uint64(scorer.indptr[label + 1])):
        feature = np.uint64(scorer.features[p])
        total += np.int64(scorer.weights[p]) * np.int64(scattered[feature])
    return total


@inline
def _look_up(scorer: Scorer, label: Int, look_ups: LookUps) -> Int:
    """Exact dot product of a label's weights and a query, from a dense row and the sums."""
    start = np.uint64(scorer.dense_rows[label]) * np.uint64(scorer.n_columns)
    total = look_ups.sums[label]
    for i in range(np.uint64(look_ups.sizes[0])):
        weight = scorer.dense[start + np.uint64(look_ups.columns[i])]
        total += np.int64(weight) * np.int64(look_ups.values[i])
    return total


@inline
def is_looked_up(scorer: Scorer, label: Int, look_ups: LookUps) -> Bool:
    """Whether a label's model is looked up in its dense row, rather than walked."""
    size = scorer.indptr[label + 1] - scorer.indptr[label]
    return look_ups.sizes[2] and scorer.dense_rows[label] >= 0 and look_ups.sizes[0] < size


@inline
def linear_score(scorer: Scorer, label: Int, scattered: Int32, look_ups: LookUps) -> Int:
    """Exact dot product of a label's weights and the query, by the shorter way."""
    if is_looked_up(scorer, label, look_ups):
        return _look_up(scorer, label, look_ups)
    return _walk(scorer, label, scattered)


@inline
def prefetch_pointers(scorer: Scorer, label: Int) -> None:
    """Prefetch the pointers to a label's model."""
    prefetch(scorer.indptr, label)
    prefetch(scorer.dense_rows, label)
    prefetch(scorer.biases, label)
    prefetch(scorer.modelled, label)


@inline
def prefetch_model(scorer: Scorer, label: Int, look_ups: LookUps) -> None:
    """Prefetch a label's model."""
    if label >= scorer.modelled.size:
        return
    if is_looked_up(scorer, label, look_ups):
        start = np.int64(scorer.dense_rows[label]) * scorer.n_columns
        for i in range(look_ups.sizes[1]):
            prefetch(scorer.dense, start + np.int64(look_ups.lines[i]))
    else:
        first = scorer.indptr[label]
        for line in range(_LINES[0]):
            prefetch(scorer.features, first + line * (_LINE // 4))
        for line in range(_LINES[1]):
            prefetch(scorer.weights, first + line * (_LINE // 2))
