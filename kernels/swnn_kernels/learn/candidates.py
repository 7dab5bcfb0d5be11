"""Labels that a row's neighbours vote for: the best K of them, and their shares at several cuts.

The share of a label at a cut c is the weight of those of the best c neighbours that have it, over
the weight of all best c. Weights are integers, so a share is one IEEE division of exact integers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swnn_kernels._numba import inline, kernel, struct_view, table
from swnn_kernels.dtypes import Int64, frozen
from swnn_kernels.heap import push, sort_best_first
from swnn_kernels.similarity import vote_weight
from swnn_kernels.vote.labels import Labels

_EMPTY = -1
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: spreads neighbouring labels


class Selection(NamedTuple):
    """How neighbours become candidates."""

    cuts: tuple[int, ...]
    """How many neighbours vote at each cut, ascending; the last decides which labels are kept."""
    n_candidates: int
    """Labels kept for each query."""
    alpha: float
    """Exponent of a similarity in its vote's weight."""


class Tally(NamedTuple):
    """Buffers of one thread."""

    cuts: Int64  # (n_cuts,), ascending: how many neighbours vote at each cut
    slot_labels: Int64  # a power of two: hash table of labels
    slot_sums: Int64  # (n_cuts * slots,): their votes, a label's cuts side by side
    totals: Int64  # (n_cuts,): the weight of all neighbours of a cut
    best_sums: Int64  # (K,)
    best_labels: Int64  # (K,)


open_labels, open_tally = struct_view(Labels), struct_view(Tally)


def make_tally(most_labels: int, cuts: tuple[int, ...], n_candidates: int) -> Tally:
    """Buffers for votes on at most ``most_labels`` labels, of which the best K are kept.

    Examples
    --------
    >>> make_tally(3, (1, 2), 2).slot_labels.size
    8
    """
    n_slots = 1 << max(1, (2 * most_labels - 1).bit_length())
    return Tally(
        cuts=np.asarray(cuts, np.int64),
        slot_labels=np.empty(n_slots, np.int64),
        slot_sums=np.empty(n_slots * len(cuts), np.int64),
        totals=np.empty(len(cuts), np.int64),
        best_sums=np.empty(n_candidates, np.int64),
        best_labels=np.empty(n_candidates, np.int64),
    )


@inline
def slot_of(tally, bits, label):  # type: ignore[no-untyped-def]
    """Find the slot that holds the label, or the empty one where it belongs."""
    mask = (1 << bits) - 1
    slot = np.int64((np.uint64(label) * _SPREAD) >> np.uint64(64 - bits)) & mask
    while tally.slot_labels[slot] != label and tally.slot_labels[slot] != _EMPTY:
        slot = (slot + 1) & mask
    return slot


@inline
def _table_bits(labels, ids, tally):  # type: ignore[no-untyped-def]
    """Size of a table for twice the votes of a query, as a power of two."""
    votes = np.int64(0)
    for i in range(ids.size):
        if ids[i] >= 0:
            votes += labels.indptr[ids[i] + 1] - labels.indptr[ids[i]]
    bits = 1
    while (1 << bits) < 2 * votes and (1 << bits) < tally.slot_labels.size:
        bits += 1
    return bits


@inline
def _cast_votes(labels, row, weight, first_cut, tally, bits):  # type: ignore[no-untyped-def]
    """Add a neighbour's weight to its labels at all cuts from ``first_cut`` on."""
    n_cuts = tally.cuts.size
    for c in range(first_cut, n_cuts):
        tally.totals[c] += weight
    for p in range(labels.indptr[row], labels.indptr[row + 1]):
        label = np.int64(labels.indices[p])
        slot = slot_of(tally, bits, label)
        if tally.slot_labels[slot] == _EMPTY:
            tally.slot_labels[slot] = label
            for c in range(n_cuts):
                tally.slot_sums[slot * n_cuts + c] = 0
        for c in range(first_cut, n_cuts):
            tally.slot_sums[slot * n_cuts + c] += weight


@inline
def _vote_at_cuts(labels, ids, sims, excluded, alpha, tally, bits):  # type: ignore[no-untyped-def]
    """Let the neighbours vote, best first, until the last cut is full."""
    copies, own = excluded
    tally.slot_labels[: 1 << bits] = _EMPTY
    tally.totals[:] = 0
    voted, cut = np.int64(0), 0
    for i in range(ids.size):
        if ids[i] < 0 or voted == tally.cuts[tally.cuts.size - 1]:
            break
        if own >= 0 and copies[ids[i]] == own:
            continue
        while voted >= tally.cuts[cut]:
            cut += 1
        voted += 1
        _cast_votes(labels, ids[i], vote_weight(sims[i], alpha), cut, tally, bits)


@inline
def collect(labels, ids, sims, excluded, alpha, tally):  # type: ignore[no-untyped-def]
    """Fill ``tally.best_labels``, best first by the votes of the last cut; count and table bits.

    ``excluded`` is (copies, own): rows whose number in ``copies`` is ``own`` do not vote; -1
    excludes none.
    """
    bits = _table_bits(labels, ids, tally)
    _vote_at_cuts(labels, ids, sims, excluded, alpha, tally, bits)
    n_cuts, held, most = tally.cuts.size, 0, tally.best_sums.size
    for slot in range(1 << bits):
        label = tally.slot_labels[slot]
        if label != _EMPTY:
            votes = tally.slot_sums[slot * n_cuts + n_cuts - 1]
            held = push(tally.best_sums, tally.best_labels, held, most, votes, label)
    sort_best_first(tally.best_sums, tally.best_labels, held)
    return held, bits


@inline
def share_at(tally, slot, cut):  # type: ignore[no-untyped-def]
    """Share of the label in a slot; 0 where all weights are 0."""
    if tally.totals[cut] <= 0:
        return 0.0
    votes = tally.slot_sums[slot * tally.cuts.size + cut]
    return np.float64(votes) / np.float64(tally.totals[cut])


@kernel
def _find_candidates(  # type: ignore[no-untyped-def]
    labels_table, tally_table, found, copies, alpha, out_labels, out_shares
):
    """Fill labels (n_queries, K), -1 where there is none, and shares (n_queries, K, n_cuts).

    ``found`` is (ids, sims); ``copies`` is the copy number of every row, and that of every query.
    """
    labels, tally = open_labels(labels_table), open_tally(tally_table)
    ids, sims = found
    of_rows, of_queries = copies
    for q in range(ids.shape[0]):
        excluded = of_rows, of_queries[q]
        held, bits = collect(labels, ids[q], sims[q], excluded, alpha, tally)
        for i in range(out_labels.shape[1]):
            out_labels[q, i] = tally.best_labels[i] if i < held else -1
            slot = slot_of(tally, bits, tally.best_labels[i]) if i < held else np.int64(0)
            for c in range(tally.cuts.size):
                out_shares[q, i, c] = share_at(tally, slot, c) if i < held else 0.0


def find_candidates(
    labels: Labels,
    selection: Selection,
    found: tuple[np.ndarray, np.ndarray],
    copies: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Let neighbours vote and keep the best labels of each query.

    Parameters
    ----------
    labels : Labels
        Labels of the rows that were searched.
    selection : Selection
    found : ids, sims
        Neighbours, (n_queries, n_neighbors), best first; missing ones are -1 and 0.
    copies : arrays of int64, optional
        Copy number of each row, and of each query, if the queries are themselves among the rows:
        then a row and its copies do not vote for it.

    Returns
    -------
    labels : array of int32, (n_queries, K)
        Largest share at the last cut first, then smaller label; -1 where there is none.
    shares : array of float64, (n_queries, K, n_cuts)

    Examples
    --------
    >>> labels = Labels.prepare(np.asarray([0, 1, 3]), np.asarray([4, 2, 4]))
    >>> found = np.asarray([[0, 1]]), np.asarray([[0.75, 0.25]])
    >>> labels, shares = find_candidates(labels, Selection((1, 2), 2, 1.0), found)
    >>> labels.tolist(), shares.tolist()
    ([[4, 2]], [[[1.0, 1.0], [0.0, 0.25]]])
    """
    ids = frozen(np.ascontiguousarray(found[0], np.int64))
    sims = frozen(np.ascontiguousarray(found[1], np.float64))
    if ids.size and not -1 <= ids.min() <= ids.max() < labels.n_rows:
        raise ValueError(f"neighbours must lie in -1..{labels.n_rows - 1}")
    if copies is None:
        copies = np.zeros(0, np.int64), np.full(ids.shape[0], -1)
    of_rows, of_queries = (frozen(np.ascontiguousarray(part, np.int64)) for part in copies)
    best = np.empty((ids.shape[0], selection.n_candidates), np.int32)
    shares = np.empty((*best.shape, len(selection.cuts)))
    most = labels.most_voted(ids.shape[1])
    tally = make_tally(most, selection.cuts, selection.n_candidates)
    _find_candidates(
        table(labels), table(tally), (ids, sims), (of_rows, of_queries), float(selection.alpha),
        best, shares,
    )  # fmt: skip
    return best, shares


@inline
def _mixed(digest, word):  # type: ignore[no-untyped-def]
    digest = (digest ^ word) * _SPREAD
    return digest ^ (digest >> np.uint64(29))


@kernel
def digest_rows(indptr, indices, quantised, label_indptr, label_indices, digests):  # type: ignore[no-untyped-def]
    """Digest of each row's features, values and labels: equal for copies."""
    for row in range(digests.size):
        digest = np.uint64(14695981039346656037)
        for p in range(indptr[row], indptr[row + 1]):
            digest = _mixed(digest, np.uint64(indices[p]))
            digest = _mixed(digest, np.uint64(np.int64(quantised[p])))
        digest = _mixed(digest, np.uint64(0xFFFFFFFFFFFFFFFF))
        for p in range(label_indptr[row], label_indptr[row + 1]):
            digest = _mixed(digest, np.uint64(label_indices[p]))
        digests[row] = digest


@kernel
def mark_right(candidates, label_indptr, label_indices, first, right):  # type: ignore[no-untyped-def]
    """Mark the candidates that their row has; row i of ``candidates`` is row ``first + i``."""
    for q in range(candidates.shape[0]):
        for i in range(candidates.shape[1]):
            right[q, i] = 0
            low, end = label_indptr[first + q], label_indptr[first + q + 1]
            high = end
            while low < high:
                middle = (low + high) // 2
                if label_indices[middle] < candidates[q, i]:
                    low = middle + 1
                else:
                    high = middle
            if low < end and label_indices[low] == candidates[q, i]:
                right[q, i] = 1
