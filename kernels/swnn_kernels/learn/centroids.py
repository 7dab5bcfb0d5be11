"""The labels whose centroids are most like a training row, as if the row were not there.

A row is part of its own labels' centroids, so their cosines with it would tell its labels. For
these labels the row and its copies are subtracted from the sum, and the centroid is made again of
what is left: its largest features, brought to unit length.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swnn_kernels._numba import Table, inline, kernel, struct_view, table
from swnn_kernels.fixed_point import quantise_row
from swnn_kernels.heap import better, push, sort_best_first
from swnn_kernels.learn.candidates import bin_of
from swnn_kernels.learn.evidence import Evidence
from swnn_kernels.records import (
    COS_SCALE,
    Float,
    Float64,
    Int,
    Int32,
    Int64,
    QuantisedRows,
    Uint8,
    Uint16,
)


class LabelSums(NamedTuple):
    """The sum of the quantised rows of each label."""

    indptr: Int64  # (n_labels + 1,)
    features: Int32  # (nnz,): in each label those of the largest magnitude first, then by number
    sums: Int64  # (nnz,)
    n_kept: int  # features of a centroid
    has_negative: int  # 1 if a value of a row is below 0


class _Buffers(NamedTuple):
    """Between rows ``scattered`` and ``is_own`` hold zeros."""

    scattered: Int32  # (n_features,)
    left: Int64  # (n_features,): of the row's features, what is left of a label's sum
    is_own: Uint8  # (n_labels,)
    sizes: Int64  # (longest row,): magnitudes of these, largest first
    changed: Int64  # (longest row,): their features
    features: Int32  # (n_kept,): a centroid
    values: Float64
    quantised: Int32
    best: Float64  # (E,)
    best_labels: Int64


class _Call(NamedTuple):
    sums: LabelSums
    buffers: _Buffers
    rows: QuantisedRows
    labels_indptr: Int64
    labels_indices: Int32
    n_copies: Int64  # (n_rows,): how many rows are like this one, itself among them
    ids: Int64  # labels found for each row, one row after the other
    sims: Float64
    out_labels: Int32
    out_bins: Uint16


_open_call = struct_view(_Call)


def tables_of_list(n_listed: int) -> tuple[int, int]:
    """Tables of evidence: the cosine, a number, and the place in the list, from 1 on.

    Examples
    --------
    >>> tables_of_list(50)
    (0, 51)
    """
    return 0, n_listed + 1


@inline
def _subtract(
    sums: LabelSums, label: Int, row: tuple[QuantisedRows, Int], n_copies: Int, buffers: _Buffers
) -> Int:
    """Sort the row's features by what is left of the label's sum; return how many there are.

    All other sums keep their order. If no value is negative, those of the row only fall, so that
    none that follows enough others can count: it is taken as 0.
    """
    rows, number = row
    first, last, n_others = rows.indptr[number], rows.indptr[number + 1], 0
    for p in range(first, last):
        value = np.int64(rows.quantised[p])
        buffers.left[rows.indices[p]] = -n_copies * value if sums.has_negative else 0
    for p in range(sums.indptr[label], sums.indptr[label + 1]):
        feature = np.int64(sums.features[p])
        value = np.int64(buffers.scattered[feature])
        if value != 0:
            buffers.left[feature] = sums.sums[p] - n_copies * value
        else:
            n_others += 1
            if n_others >= sums.n_kept and sums.has_negative == 0:
                break
    size = np.int64(0)
    for p in range(first, last):
        feature = np.int64(rows.indices[p])
        left = abs(buffers.left[feature])
        size = push(buffers.sizes, buffers.changed, size, last - first, left, feature)
    sort_best_first(buffers.sizes, buffers.changed, size)
    return size


@inline
def _cosine_without(
    sums: LabelSums, label: Int, row: tuple[QuantisedRows, Int], n_copies: Int, buffers: _Buffers
) -> Float:
    """Cosine of the row, which is scattered, and a label's centroid without it."""
    n_changed = _subtract(sums, label, row, n_copies, buffers)
    at, c, n = sums.indptr[label], np.int64(0), np.int64(0)
    end = sums.indptr[label + 1]
    while n < sums.n_kept:
        while at < end and buffers.scattered[sums.features[at]] != 0:
            at += 1
        if at == end and c == n_changed:
            break
        is_changed = at == end
        if at < end and c < n_changed:
            size, feature = abs(sums.sums[at]), np.int64(sums.features[at])
            is_changed = better(buffers.sizes[c], buffers.changed[c], size, feature)
        if is_changed:
            buffers.features[n] = buffers.changed[c]
            buffers.values[n] = buffers.left[buffers.changed[c]]
            c += 1
        else:
            buffers.features[n] = sums.features[at]
            buffers.values[n] = sums.sums[at]
            at += 1
        n += 1
    quantise_row(buffers.values, 0, n, buffers.quantised, 0)
    dot = np.int64(0)
    for i in range(n):
        value = np.int64(buffers.scattered[buffers.features[i]])
        dot += value * np.int64(buffers.quantised[i])
    return dot * COS_SCALE


@kernel
def _list_labels(call_table: Table[_Call]) -> None:
    call = _open_call(call_table)
    sums, buffers, rows = call.sums, call.buffers, call.rows
    n_rows, n_listed = call.n_copies.size, buffers.best.size
    for q in range(n_rows):
        size, found = 0, call.ids.size // n_rows
        for p in range(rows.indptr[q], rows.indptr[q + 1]):
            buffers.scattered[rows.indices[p]] = rows.quantised[p]
        for p in range(call.labels_indptr[q], call.labels_indptr[q + 1]):
            label = np.int64(call.labels_indices[p])
            buffers.is_own[label] = 1
            cosine = _cosine_without(sums, label, (rows, q), call.n_copies[q], buffers)
            if cosine > 0:
                size = push(buffers.best, buffers.best_labels, size, n_listed, cosine, label)
        for j in range(q * found, (q + 1) * found):
            label = call.ids[j]
            if label >= 0 and buffers.is_own[label] == 0:
                cosine = call.sims[j]
                size = push(buffers.best, buffers.best_labels, size, n_listed, cosine, label)
        sort_best_first(buffers.best, buffers.best_labels, size)
        for i in range(n_listed):
            at = q * n_listed + i
            call.out_labels[at] = buffers.best_labels[i] if i < size else -1
            call.out_bins[2 * at] = bin_of(buffers.best[i]) if i < size else 0
            call.out_bins[2 * at + 1] = i + 1 if i < size else 0
        for p in range(call.labels_indptr[q], call.labels_indptr[q + 1]):
            buffers.is_own[call.labels_indices[p]] = 0
        for p in range(rows.indptr[q], rows.indptr[q + 1]):
            buffers.scattered[rows.indices[p]] = 0


def list_labels(
    sums: LabelSums,
    rows: QuantisedRows,
    labels: tuple[np.ndarray, np.ndarray],
    n_copies: np.ndarray,
    found: tuple[np.ndarray, np.ndarray],
    n_listed: int,
) -> Evidence:
    """List the labels whose centroids, without a row and its copies, are most like the row.

    Parameters
    ----------
    sums : LabelSums
        Of all rows.
    rows : QuantisedRows
        Some of them.
    labels : indptr, indices
        Their labels.
    n_copies : array of int64
        How many rows are like each of them, itself among them.
    found : ids, sims
        The labels whose centroids are most like each row, with their cosines: as many as are to be
        listed and as the row has.
    n_listed : int

    Examples
    --------
    >>> sums = LabelSums(np.array([0, 1, 3]), np.array([0, 0, 1], np.int32),
    ...                  np.array([2**23, 2**23, 2**22]), 5, 0)
    >>> row = QuantisedRows(np.array([0, 1]), np.array([0]), np.array([2**23]), 2)
    >>> labels = np.array([0, 1]), np.array([0])
    >>> found = np.array([[0, 1]]), np.array([[1.0, 0.75]])
    >>> list_labels(sums, row, labels, np.array([1]), found, 2).labels.tolist()
    [[1, -1]]
    """
    rows, n_labels = rows.prepared(), sums.indptr.size - 1
    longest = int(np.diff(rows.indptr).max(initial=0))
    buffers = _Buffers(
        np.zeros(rows.n_features, np.int32),
        np.zeros(rows.n_features, np.int64),
        np.zeros(n_labels, np.uint8),
        np.zeros(longest, np.int64),
        np.zeros(longest, np.int64),
        np.empty(sums.n_kept, np.int32),
        np.empty(sums.n_kept),
        np.empty(sums.n_kept, np.int32),
        np.empty(n_listed),
        np.empty(n_listed, np.int64),
    )
    shape = rows.n_rows, n_listed
    out = np.empty(shape, np.int32), np.empty((*shape, len(tables_of_list(n_listed))), np.uint16)
    arrays = (*labels, n_copies, *found, *out)
    dtypes = np.int64, np.int32, np.int64, np.int64, np.float64, np.int32, np.uint16
    flat = [np.ascontiguousarray(a, t).reshape(-1) for a, t in zip(arrays, dtypes, strict=True)]
    parts: Any = table(sums), table(buffers), table(rows), *flat
    _list_labels(table(_Call(*parts)))
    return Evidence(*out)
