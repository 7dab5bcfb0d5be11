"""Label models as a query meets them: sparse, and dense rows for the labels with most weights.

A sparse model is walked from end to end, though the query has few of its features. In a dense row
only the query's features are looked up. Dense rows together take no more memory than the sparse
models, and their columns are ordered by how many labels have a weight there: those that queries
look up most share cache lines. On EURLEX57K dense rows save a third of the time; bounds on a
label's score would save nothing: nearly every candidate's weights are large enough to lift it to
the top.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from swnn_kernels._numba import inline, prefetch
from swnn_kernels.dtypes import Int16, Int32, Int64, Uint8, frozen

_LINE = 64  # bytes of a cache line
_LINES = 4, 2  # of features and of weights that are asked for: the hardware finds the rest
_SPARSE_BYTES, _DENSE_BYTES = 6, 2  # of a weight
_SPARSEST = 64  # a dense row holds at least one weight for this many features


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
    """A ranker and the dense rows made from it."""

    indptr: Int64
    features: Int32
    weights: Int16
    biases: Int64
    modelled: Uint8
    tables: Int64
    shift: int
    dense_rows: Int32  # (n_labels,): number of a label's dense row, or -1
    dense: Int16  # (n_dense * n_features,)
    columns: Int32  # (n_features,): column of a feature in dense rows
    n_features: int

    @classmethod
    def prepare(cls, ranker: Ranker, n_features: int) -> Self:
        """Make dense rows for the labels with most weights, once for all later calls.

        Examples
        --------
        >>> ranker = Ranker(np.array([0, 1, 3]), np.array([2, 0, 2], np.int32),
        ...                 np.array([5, 6, 7], np.int16), np.zeros(2, np.int64),
        ...                 np.ones(2, np.uint8), np.zeros(2 * 1281, np.int64), 0)
        >>> scorer = Scorer.prepare(ranker, 3)
        >>> scorer.dense_rows.tolist(), scorer.dense.tolist()
        ([1, 0], [7, 6, 0, 5, 0, 0])
        """
        sizes = np.diff(ranker.indptr)
        room = _SPARSE_BYTES * ranker.weights.size // (_DENSE_BYTES * max(1, n_features))
        largest = np.argsort(-sizes, kind="stable")[:room]
        largest = largest[sizes[largest] * _SPARSEST >= max(1, n_features)]
        dense_rows = np.full(sizes.size, -1, np.int32)
        dense_rows[largest] = np.arange(largest.size)
        columns = _columns(ranker.features, n_features)
        dense = np.zeros((largest.size, n_features), np.int16)
        for row, label in enumerate(largest):
            own = slice(ranker.indptr[label], ranker.indptr[label + 1])
            dense[row, columns[ranker.features[own]]] = ranker.weights[own]
        stored: dict[str, Any] = ranker._asdict()
        stored |= {"dense_rows": dense_rows, "dense": dense.reshape(-1), "columns": columns}
        arrays = {name: frozen(value) for name, value in stored.items() if name != "shift"}
        return cls(**arrays, shift=ranker.shift, n_features=n_features)


def _columns(features: np.ndarray, n_features: int) -> np.ndarray:
    """Columns of the features, those with most weights first."""
    columns = np.empty(n_features, np.int32)
    order = np.argsort(-np.bincount(features, minlength=n_features), kind="stable")
    columns[order] = np.arange(n_features)
    return columns


@inline
def load_columns(scorer, indices, first, last, columns):  # type: ignore[no-untyped-def]
    """Write the columns of a query's features."""
    for p in range(first, last):
        columns[p - first] = scorer.columns[indices[p]]


@inline
def walk_model(scorer, label, scattered):  # type: ignore[no-untyped-def]
    """Exact dot product of a label's weights and a query that lies scattered over all features."""
    total = np.int64(0)
    for p in range(np.uint64(scorer.indptr[label]), np.uint64(scorer.indptr[label + 1])):
        feature = np.uint64(scorer.features[p])
        total += np.int64(scorer.weights[p]) * np.int64(scattered[feature])
    return total


@inline
def look_up_model(scorer, row, query):  # type: ignore[no-untyped-def]
    """Exact dot product of a dense row and a query: (columns, values, first value, size)."""
    columns, quantised, first, size = query
    total, start = np.int64(0), np.uint64(row) * np.uint64(scorer.n_features)
    for p in range(np.uint64(size)):
        weight = scorer.dense[start + np.uint64(columns[p])]
        total += np.int64(weight) * np.int64(quantised[np.uint64(first) + p])
    return total


@inline
def linear_score(scorer, label, scattered, query):  # type: ignore[no-untyped-def]
    """Exact dot product of a label's weights and the query, by the shorter way."""
    if _is_looked_up(scorer, label, query):
        return look_up_model(scorer, scorer.dense_rows[label], query)
    return walk_model(scorer, label, scattered)


@inline
def _is_looked_up(scorer, label, query):  # type: ignore[no-untyped-def]
    size = scorer.indptr[label + 1] - scorer.indptr[label]
    return scorer.dense_rows[label] >= 0 and query[3] < size


@inline
def ask_where(scorer, label):  # type: ignore[no-untyped-def]
    """Ask for the memory that tells where a label's model is."""
    prefetch(scorer.indptr, label)
    prefetch(scorer.dense_rows, label)
    prefetch(scorer.biases, label)
    prefetch(scorer.modelled, label)


@inline
def ask_for(scorer, label, query):  # type: ignore[no-untyped-def]
    """Ask for the memory of a label's model before it is needed."""
    if label >= scorer.modelled.size:
        return
    if _is_looked_up(scorer, label, query):
        columns, _, _, size = query
        start = np.int64(scorer.dense_rows[label]) * scorer.n_features
        for p in range(size):
            prefetch(scorer.dense, start + np.int64(columns[p]))
    else:
        first = scorer.indptr[label]
        for line in range(_LINES[0]):
            prefetch(scorer.features, first + line * (_LINE // 4))
        for line in range(_LINES[1]):
            prefetch(scorer.weights, first + line * (_LINE // 2))
