"""Neighbours vote for their labels: exact int64 sums in a small hash table, then the best k.

`Labels` are checked and measured once for all votes; `vote_batch` lets neighbours vote that were
found before, for many settings after one search.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from swnn_kernels._numba import Table, inline, kernel, struct_view, table
from swnn_kernels.fixed_point import vote_weight
from swnn_kernels.heap import push, sort_best_first
from swnn_kernels.records import (
    VOTE_SCALE,
    Float,
    Float64,
    Int,
    Int32,
    Int64,
    check_indptr,
    check_k,
    check_neighbours,
    check_voters,
    frozen,
)


class Labels(NamedTuple):
    """Labels of every row, made by `prepare`.

    Examples
    --------
    >>> labels = Labels.prepare(np.array([0, 1, 3]), np.array([4, 2, 4]))
    >>> labels.n_rows, labels.n_labels, labels.longest_row
    (2, 5, 2)
    """

    indptr: Int64  # (n_rows + 1,)
    indices: Int32  # (nnz,)
    n_labels: int  # one more than the largest id
    longest_row: int  # most labels of a row

    @classmethod
    def prepare(cls, indptr: np.ndarray, indices: np.ndarray) -> Self:
        """Check the labels, once for all later calls.

        Parameters
        ----------
        indptr : array of int64, (n_rows + 1,)
            Where the labels of each row start.
        indices : array of int32
            Label ids, not negative.

        Returns
        -------
        Labels
            The same arrays, read-only, and what a vote needs to know of them.
        """
        indptr = np.ascontiguousarray(indptr, dtype=np.int64)
        indices = np.ascontiguousarray(indices, dtype=np.int32)
        check_indptr(indptr, indices.size, "labels")
        if indices.size and indices.min() < 0:
            raise ValueError("labels: ids must not be negative")
        n_labels = int(indices.max(initial=-1)) + 1
        longest = int(np.diff(indptr).max(initial=0))
        return cls(frozen(indptr), frozen(indices), n_labels, longest)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.indptr.size) - 1

    def max_voted(self, n_neighbors: int) -> int:
        """Upper bound on the number of labels that get a vote from this many neighbours."""
        if self.indices.size:
            check_voters(min(n_neighbors, self.n_rows))
        return min(self.longest_row * n_neighbors, int(self.indices.size), self.n_labels)


_EMPTY = -1
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: spreads neighbouring labels


class VoteBuffers(NamedTuple):
    """Buffers of a vote, as `QueryBuffers` has them too."""

    slot_labels: Int64  # a power of two: hash table
    slot_sums: Int64
    best_sums: Int64  # heap of the best labels
    best_labels: Int64


def vote_buffers(most_labels: int, k: int) -> VoteBuffers:
    """Buffers for votes on at most ``most_labels`` labels, of which the best k are wanted."""
    n_slots = 1 << max(1, (2 * most_labels - 1).bit_length())
    kept = min(k, most_labels)
    return VoteBuffers(*(np.empty(n, np.int64) for n in (n_slots, n_slots, kept, kept)))


@inline
def _add(buffers: VoteBuffers, bits: Int, label: Int, weight: Int) -> None:
    """Add a weight to a label's sum in a table of 2**bits slots."""
    labels, mask = buffers.slot_labels, (1 << bits) - 1
    slot = np.int64((np.uint64(label) * _SPREAD) >> np.uint64(64 - bits)) & mask
    while labels[slot] != label:
        if labels[slot] == _EMPTY:
            labels[slot] = label
            buffers.slot_sums[slot] = 0
            break
        slot = (slot + 1) & mask
    buffers.slot_sums[slot] += weight


@inline
def _table_bits(labels: Labels, buffers: VoteBuffers, rows: Int64, found: Int) -> Int:
    """Size of the hash table for one query, twice its votes: nothing longer is cleared."""
    votes = 0
    for i in range(found):
        votes += labels.indptr[rows[i] + 1] - labels.indptr[rows[i]]
    bits = 1
    while (1 << bits) < 2 * votes and (1 << bits) < buffers.slot_labels.size:
        bits += 1
    return bits


@inline
def vote(
    labels: Labels, buffers: VoteBuffers, rows: Int64, sims: Float64, found: Int, alpha: Float
) -> Int:
    """Fill ``best_sums`` and ``best_labels`` of the buffers, best first; return how many."""
    bits = _table_bits(labels, buffers, rows, found)
    buffers.slot_labels[: 1 << bits] = _EMPTY
    for i in range(found):
        weight = vote_weight(sims[i], alpha)
        for p in range(labels.indptr[rows[i]], labels.indptr[rows[i] + 1]):
            _add(buffers, bits, np.int64(labels.indices[p]), weight)
    best_sums, best_labels = buffers.best_sums, buffers.best_labels
    n_best, k = 0, best_sums.size
    for slot in range(1 << bits):
        label = buffers.slot_labels[slot]
        if label != _EMPTY:
            n_best = push(best_sums, best_labels, n_best, k, buffers.slot_sums[slot], label)
    sort_best_first(best_sums, best_labels, n_best)
    return n_best


_open_labels, _open_buffers = struct_view(Labels), struct_view(VoteBuffers)


def vote_batch(
    labels: Labels, ids: np.ndarray, sims: np.ndarray, alpha: float, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rank labels by the votes of neighbours, weighted by Sim**alpha.

    Parameters
    ----------
    labels : Labels
        Labels of each row.
    ids, sims : arrays of int64 and float64, (n_queries, n_neighbors)
        Neighbours as `search` returns them: best first, missing ones are -1 and 0.
    alpha : float
        Exponent of a vote's weight.
    k : int
        How many labels to return for a query.

    Returns
    -------
    labels, scores : arrays of int64 and float64, (n_queries, k)
        Best first: larger score, then smaller label. Missing labels are -1 and 0.

    Examples
    --------
    >>> labels = Labels.prepare(np.array([0, 1, 3]), np.array([4, 2, 4]))
    >>> found = vote_batch(labels, np.array([[0, 1]]), np.array([[0.5, 0.25]]), 1.0, 2)
    >>> [part.tolist() for part in found]
    [[[4, 2]], [[0.75, 0.25]]]
    """
    k = check_k(k)
    rows, sims = check_neighbours(ids, sims, labels.n_rows)
    check_voters(rows.shape[1])
    out = np.full((rows.shape[0], k), -1, dtype=np.int64), np.zeros((rows.shape[0], k))
    buffers = vote_buffers(labels.max_voted(rows.shape[1]), k)
    _vote_all(table(labels), table(buffers), rows, sims, float(alpha), *out)
    return out


class Voter:
    """Lets the neighbours of one query vote at a time; use one for each thread.

    Parameters
    ----------
    labels : Labels
        Labels of each row.
    n_neighbors : int
        Most neighbours of a query.
    alpha : float
        Exponent of a vote's weight.

    Examples
    --------
    >>> voter = Voter(Labels.prepare(np.array([0, 1, 3]), np.array([4, 2, 4])), 2, 1.0)
    >>> labels, scores = voter.rank_one(np.array([0, 1]), np.array([0.5, 0.25]), 2)
    >>> labels.tolist(), scores.tolist()
    ([4, 2], [0.75, 0.25])
    """

    def __init__(self, labels: Labels, n_neighbors: int, alpha: float) -> None:
        self._labels, self._labels_table = labels, table(labels)
        self._n_neighbors, self._alpha = check_voters(n_neighbors), float(alpha)
        self._make_buffers(5)

    def _make_buffers(self, k: int) -> None:
        buffers = vote_buffers(self._labels.max_voted(self._n_neighbors), k)
        self._k, self._buffers = k, table(buffers)

    def rank_one(self, ids: np.ndarray, sims: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Rank labels by the votes of neighbours that a session has found.

        Parameters
        ----------
        ids, sims : arrays of int64 and float64, (n_neighbors,)
            Best first; missing ones are -1 and 0.
        k : int

        Returns
        -------
        labels, scores : arrays of int64 and float64, (k,)
            Best first; missing labels are -1 and 0.
        """
        k = check_k(k)
        if k != self._k:
            self._make_buffers(k)
        labels, scores = np.full((1, k), -1, np.int64), np.zeros((1, k))
        found = ids.reshape(1, -1), sims.reshape(1, -1)
        _vote_all(self._labels_table, self._buffers, *found, self._alpha, labels, scores)
        return labels[0], scores[0]


@kernel
def _vote_all(
    labels_table: Table[Labels],
    buffers_table: Table[VoteBuffers],
    rows: Int64,
    sims: Float64,
    alpha: Float,
    out_labels: Int64,
    out_scores: Float64,
) -> None:
    """Vote for every query."""
    labels, buffers = _open_labels(labels_table), _open_buffers(buffers_table)
    for q in range(rows.shape[0]):
        found = 0
        while found < rows.shape[1] and rows[q, found] >= 0:
            found += 1
        n_best = vote(labels, buffers, rows[q], sims[q], found, alpha)
        for i in range(n_best):
            out_labels[q, i] = buffers.best_labels[i]
            out_scores[q, i] = buffers.best_sums[i] * (1.0 / VOTE_SCALE)
