"""Candidates of learned ranking: the K labels with most votes, and their shares at several cuts.

The share of a label at a cut c is the weight of those of the best c neighbours that have it, over
the weight of all best c. Weights are integers, so a share is one IEEE division of exact integers.

Shares fall into bins, which look up scores in tables. The bin of a share is the number of knots at
or below ``share + 2**-10``, less one. Knots are evenly spaced within each power of two, so the bin
is also the leading bits of the sum as an IEEE float64: one addition and one shift find it, and a
binary search among the knots gives the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from swnn_kernels._numba import Table, inline, kernel, prefetch, struct_view, table
from swnn_kernels.fixed_point import vote_weight
from swnn_kernels.heap import push, sort_best_first
from swnn_kernels.learn.evidence import Evidence, Listed, SourceShape, join_evidence
from swnn_kernels.records import (
    Float,
    Float64,
    Int,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint64,
    check_neighbours,
)
from swnn_kernels.vote import Labels

SHARE_SHIFT = 2.0**-10
"""Added to a share, so that its logarithm exists."""
MANTISSA_BITS = 7
N_BINS = (10 << MANTISSA_BITS) + 1
"""Bins of a cut: ten powers of two, and the share 1."""
_FIRST = (1023 - 10) << MANTISSA_BITS
_DROPPED = 52 - MANTISSA_BITS


@inline
def bin_of(share: Float) -> Int:
    """Find the bin of a share between 0 and 1; any other number gets the first or the last bin."""
    bits = np.float64(share + SHARE_SHIFT).view(np.int64)
    return min(max((bits >> _DROPPED) - _FIRST, np.int64(0)), np.int64(N_BINS - 1))


@kernel
def fill_bins(shares: Float64, bins: Uint16) -> None:
    """Find the bin of each share; both arrays are flat."""
    for i in range(shares.size):
        bins[i] = bin_of(shares[i])


_BUCKETS = 256  # of votes: sixteen octaves
_LINE = 16  # labels in a cache line
_DROPPED_BITS = 48  # of a float64: what is left has four bits of the mantissa
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: spreads neighbouring words


class Selection(NamedTuple):
    """How neighbours become candidates."""

    cuts: tuple[int, ...]
    """How many neighbours vote at each cut, ascending; the last decides which labels are kept."""
    n_candidates: int
    """Labels kept for each query."""
    alpha: float
    """Exponent of a similarity in its vote's weight."""
    sources: tuple[SourceShape, ...] = ()
    """What lists further candidates."""

    @property
    def n_ranked(self) -> int:
        """Most candidates of a query."""
        return self.n_candidates + sum(source.n_listed for source in self.sources)

    @property
    def n_tables(self) -> int:
        """Tables of the vote score: one for each cut, then those of the sources."""
        return len(self.cuts) + sum(len(source.tables) for source in self.sources)


class Tally(NamedTuple):
    """Buffers of one thread; between queries ``sums``, ``bins`` and ``is_kept`` hold zeros.

    ``slots`` is never cleared: a label has votes if its slot holds it. ``most`` is the number of
    labels that may have votes or be listed by a source.
    """

    cuts: Int64  # (n_cuts,), ascending: how many neighbours vote at each cut
    slots: Int32  # (n_labels,): slot of a label, if it has votes
    voted: Int64  # (most + 1,): labels voted for or listed, and one written in vain
    sums: Int64  # ((most + 1) * n_cuts,): their votes, a label's cuts side by side
    totals: Int64  # (n_cuts,): the weight of all neighbours of a cut
    histogram: Int32  # (_BUCKETS,)
    best: Int64  # (most,): slots of the labels that are kept
    best_sums: Int64  # (K + labels listed,)
    best_labels: Int64  # (K + labels listed,)
    n_candidates: int  # K
    n_bins: int  # tables of all sources
    bins: Uint16  # ((most + 1) * n_bins,): what sources say of a label
    is_kept: Uint8  # (most + 1,): 1 for slots in ``best``, if there are sources


class FindCall(NamedTuple):
    """Neighbours, what it takes to find candidates among their labels, and where these go."""

    labels: Labels
    tally: Tally
    listed: Listed
    alpha: float
    ids: Int64  # neighbours of all queries, one after the other
    sims: Float64
    copies_of_rows: Int64  # copy number of each row
    copies_of_queries: Int64
    out_labels: Int32  # (n_queries * (K + labels listed),), -1 where there is none
    out_shares: Float64  # (..., n_cuts)
    out_bins: Uint16  # (..., n_bins)


_open_call = struct_view(FindCall)


def make_tally(labels: Labels, selection: Selection) -> Tally:
    """Buffers for votes of the rows with these labels, of which the best K are kept.

    Examples
    --------
    >>> labels = Labels.prepare(np.asarray([0, 1, 3]), np.asarray([4, 2, 4]))
    >>> make_tally(labels, Selection((1, 2), 2, 1.0)).slots.size
    5
    """
    cuts, sources = selection.cuts, selection.sources
    n_listed = sum(source.n_listed for source in sources)
    voted = labels.max_voted(cuts[-1])
    kept = max(1, min(selection.n_candidates, voted))
    most, n_bins = voted + n_listed, selection.n_tables - len(cuts)
    return Tally(
        cuts=np.asarray(cuts, np.int64),
        slots=np.zeros(max([labels.n_labels, *(s.n_labels for s in sources)]), np.int32),
        voted=np.zeros(most + 1, np.int64),
        sums=np.zeros((most + 1) * len(cuts), np.int64),
        totals=np.zeros(len(cuts), np.int64),
        histogram=np.zeros(_BUCKETS, np.int32),
        best=np.zeros(most, np.int64),
        best_sums=np.zeros(kept + n_listed, np.int64),
        best_labels=np.zeros(kept + n_listed, np.int64),
        n_candidates=kept,
        n_bins=n_bins,
        bins=np.zeros((most + 1) * n_bins, np.uint16),
        is_kept=np.zeros(most + 1, np.uint8),
    )


@inline
def _prefetch_labels(labels: Labels, ids: Int64) -> None:
    """Prefetch the neighbours' labels."""
    for i in range(ids.size):
        prefetch(labels.indptr, ids[i])
    for i in range(ids.size):
        if ids[i] >= 0:
            first = labels.indptr[ids[i]]
            prefetch(labels.indices, first)
            prefetch(labels.indices, first + _LINE)


@inline
def _cast_votes(labels: Labels, row: Int, weight: Int, cut: Int, tally: Tally, n_voted: Int) -> Int:
    """Add a neighbour's weight to its labels at a cut; return how many labels have votes.

    Without a branch: whether a label is new can't be predicted.
    """
    n_cuts = tally.cuts.size
    for p in range(np.uint64(labels.indptr[row]), np.uint64(labels.indptr[row + 1])):
        label = np.int64(labels.indices[p])
        slot = np.int64(tally.slots[np.uint64(label)])
        is_new = (slot >= n_voted) | (tally.voted[np.uint64(slot)] != label)
        slot = n_voted if is_new else slot
        tally.slots[np.uint64(label)] = slot
        tally.voted[np.uint64(slot)] = label
        tally.sums[np.uint64(slot * n_cuts + cut)] += weight
        n_voted += np.int64(is_new)
    return n_voted


@inline
def _add_up_cuts(tally: Tally, n_voted: Int) -> None:
    """Turn the votes between two cuts into those up to a cut."""
    n_cuts = tally.cuts.size
    for c in range(1, n_cuts):
        tally.totals[c] += tally.totals[c - 1]
    for slot in range(n_voted):
        for c in range(1, n_cuts):
            tally.sums[slot * n_cuts + c] += tally.sums[slot * n_cuts + c - 1]


@inline
def _vote_at_cuts(
    labels: Labels,
    ids: Int64,
    sims: Float64,
    excluded: tuple[Int64, Int],
    alpha: Float,
    tally: Tally,
) -> Int:
    """Let the neighbours vote, best first, until the last cut is full; return how many labels."""
    copies, own = excluded
    tally.totals[:] = 0
    voted, cut, n_voted = np.int64(0), 0, np.int64(0)
    for i in range(ids.size):
        if ids[i] < 0 or voted == tally.cuts[tally.cuts.size - 1]:
            break
        if own >= 0 and copies[ids[i]] == own:
            continue
        while voted >= tally.cuts[cut]:
            cut += 1
        voted += 1
        weight = vote_weight(sims[i], alpha)
        tally.totals[cut] += weight
        n_voted = _cast_votes(labels, ids[i], weight, cut, tally, n_voted)
    _add_up_cuts(tally, n_voted)
    return n_voted


@inline
def _bucket_of(votes: Int, total: Int) -> Int:
    """Bucket of a label's votes, sixteen to an octave; fewer votes have larger buckets."""
    top = np.float64(total).view(np.int64) >> _DROPPED_BITS
    own = np.float64(votes).view(np.int64) >> _DROPPED_BITS
    return min(max(top - own, np.int64(0)), np.int64(_BUCKETS - 1))


@inline
def _last_bucket(tally: Tally, n_voted: Int, most: Int) -> tuple[Int, Int]:
    """Find the bucket of the ``most``-th best label, and how many labels come before it."""
    n_cuts, histogram = tally.cuts.size, tally.histogram
    histogram[:] = 0
    for slot in range(n_voted):
        votes = tally.sums[slot * n_cuts + n_cuts - 1]
        histogram[_bucket_of(votes, tally.totals[n_cuts - 1])] += 1
    bucket, before = 0, np.int64(0)
    while before + histogram[bucket] < most:
        before += histogram[bucket]
        bucket += 1
    return bucket, before


@inline
def _keep_best(tally: Tally, n_voted: Int, most: Int) -> Int:
    """Write the slots of the ``most`` best labels to ``best``, in no particular order."""
    n_cuts = tally.cuts.size
    last, before = _last_bucket(tally, n_voted, most)
    kept, held = np.int64(0), 0
    for slot in range(n_voted):
        votes = tally.sums[slot * n_cuts + n_cuts - 1]
        bucket = _bucket_of(votes, tally.totals[n_cuts - 1])
        tally.best[kept] = slot
        kept += np.int64(bucket < last)
        if bucket == last:
            label = tally.voted[slot]
            held = push(tally.best_sums, tally.best_labels, held, most - before, votes, label)
    for i in range(held):
        tally.best[kept + i] = tally.slots[tally.best_labels[i]]
    return most


@inline
def tally_votes(
    labels: Labels,
    ids: Int64,
    sims: Float64,
    excluded: tuple[Int64, Int],
    alpha: Float,
    tally: Tally,
) -> tuple[Int, Int]:
    """Find the best labels by the votes of the last cut; return how many, and how many got votes.

    ``tally.best`` holds their slots, in no particular order. ``excluded`` is (copies, own): rows
    whose number in ``copies`` is ``own`` do not vote; -1 excludes none. Call `reset_tally` next.
    """
    _prefetch_labels(labels, ids)
    n_voted = _vote_at_cuts(labels, ids, sims, excluded, alpha, tally)
    if n_voted > tally.n_candidates:
        return _keep_best(tally, n_voted, tally.n_candidates), n_voted
    for slot in range(n_voted):
        tally.best[slot] = slot
    return n_voted, n_voted


@inline
def add_listed(
    tally: Tally, listed: Listed, query: Int, held: Int, n_voted: Int
) -> tuple[Int, Int]:
    """Append the labels that sources list for a query to ``best``, with their bins.

    Returns how many labels are kept, and how many have a slot: what `tally_votes` returns.
    """
    n_sources = listed.n_listed.size
    for i in range(held if n_sources else 0):
        tally.is_kept[tally.best[i]] = 1
    at, bin_at, table = np.int64(0), np.int64(0), np.int64(0)
    for s in range(n_sources):
        at += query * listed.n_listed[s]
        bin_at += query * listed.n_listed[s] * listed.n_tables[s]
    for s in range(n_sources):
        n_tables = listed.n_tables[s]
        for _ in range(listed.n_listed[s]):
            label = np.int64(listed.labels[at])
            if label >= 0:
                slot = np.int64(tally.slots[label])
                if slot >= n_voted or tally.voted[slot] != label:
                    slot = n_voted
                    tally.slots[label] = slot
                    tally.voted[slot] = label
                    n_voted += 1
                if tally.is_kept[slot] == 0:
                    tally.is_kept[slot] = 1
                    tally.best[held] = slot
                    held += 1
                for t in range(n_tables):
                    tally.bins[slot * tally.n_bins + table + t] = listed.bins[bin_at + t]
            at += 1
            bin_at += n_tables
        table += n_tables
    return held, n_voted


@inline
def reset_tally(tally: Tally, n_voted: Int) -> None:
    """Set the votes, and what sources said, to zeros again."""
    tally.sums[: n_voted * tally.cuts.size] = 0
    if tally.n_bins:
        tally.bins[: n_voted * tally.n_bins] = 0
        tally.is_kept[:n_voted] = 0


@inline
def share_at(tally: Tally, slot: Int, cut: Int) -> Float:
    """Share of the label at a slot; 0 where all weights are 0."""
    if tally.totals[cut] <= 0:
        return 0.0
    votes = tally.sums[slot * tally.cuts.size + cut]
    return np.float64(votes) / np.float64(tally.totals[cut])


@inline
def _sort_best(tally: Tally, held: Int) -> None:
    """Fill ``best_labels``, best first by the votes of the last cut."""
    n_cuts, size = tally.cuts.size, 0
    for i in range(held):
        slot = tally.best[i]
        votes = tally.sums[slot * n_cuts + n_cuts - 1]
        size = push(tally.best_sums, tally.best_labels, size, held, votes, tally.voted[slot])
    sort_best_first(tally.best_sums, tally.best_labels, held)


@kernel
def _find_candidates(call_table: Table[FindCall]) -> None:
    """Fill the labels, shares and bins of all queries: those voted for, then others listed."""
    call = _open_call(call_table)
    labels, tally, n_queries = call.labels, call.tally, call.copies_of_queries.size
    n_cuts, n_bins = tally.cuts.size, tally.n_bins
    for q in range(n_queries):
        near, size = call.ids.size // n_queries, call.out_labels.size // n_queries
        ids, sims = call.ids[q * near :][:near], call.sims[q * near :][:near]
        excluded = call.copies_of_rows, call.copies_of_queries[q]
        held, n_voted = tally_votes(labels, ids, sims, excluded, call.alpha, tally)
        _sort_best(tally, held)
        kept, n_voted = add_listed(tally, call.listed, np.int64(q), held, n_voted)
        for i in range(held, kept):
            tally.best_labels[i] = tally.voted[tally.best[i]]
        others = size - tally.best_labels.size + tally.n_candidates  # where listed ones begin
        for i in range(size):
            source = i if i < others else i - others + held
            there = source < (held if i < others else kept)
            at = q * size + i
            call.out_labels[at] = tally.best_labels[source] if there else -1
            slot = np.int64(tally.slots[tally.best_labels[source]]) if there else np.int64(0)
            for c in range(n_cuts):
                call.out_shares[at * n_cuts + c] = share_at(tally, slot, c) if there else 0.0
            for t in range(n_bins):
                call.out_bins[at * n_bins + t] = tally.bins[slot * n_bins + t] if there else 0
        reset_tally(tally, n_voted)


def find_candidates(
    labels: Labels,
    selection: Selection,
    found: tuple[np.ndarray, np.ndarray],
    copies: tuple[np.ndarray, np.ndarray] | None = None,
    evidence: Sequence[Evidence] = (),
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Let neighbours vote and keep the best labels of each query, and those that sources list.

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
    evidence : sequence of Evidence
        What each of the selection's sources lists.

    Returns
    -------
    labels : array of int32, (n_queries, K + labels listed)
        Largest share at the last cut first, then smaller label; from column K on those that only
        sources list. -1 where there is none.
    shares : array of float64, (n_queries, K + labels listed, n_cuts)
    bins : array of uint16, (n_queries, K + labels listed, tables of all sources)

    Examples
    --------
    >>> labels = Labels.prepare(np.asarray([0, 1, 3]), np.asarray([4, 2, 4]))
    >>> found = np.asarray([[0, 1]]), np.asarray([[0.75, 0.25]])
    >>> labels, shares, _ = find_candidates(labels, Selection((1, 2), 2, 1.0), found)
    >>> labels.tolist(), shares.tolist()
    ([[4, 2]], [[[1.0, 1.0], [0.0, 0.25]]])
    """
    ids, sims = check_neighbours(*found, labels.n_rows)
    if copies is None:
        copies = np.zeros(0, np.int64), np.full(ids.shape[0], -1)
    numbers = (np.ascontiguousarray(part, np.int64) for part in copies)
    best = np.empty((ids.shape[0], selection.n_ranked), np.int32)
    shares = np.empty((*best.shape, len(selection.cuts)))
    bins = np.empty((*best.shape, selection.n_tables - len(selection.cuts)), np.uint16)
    tally = make_tally(labels, selection)
    listed = join_evidence(evidence, selection.sources, ids.shape[0])
    found = ids.reshape(-1), sims.reshape(-1)
    out = best.reshape(-1), shares.reshape(-1), bins.reshape(-1)
    constant = table(labels), table(tally), table(listed), float(selection.alpha)
    call: Any = *constant, *found, *numbers, *out
    _find_candidates(table(FindCall(*call)))
    return best, shares, bins


@inline
def _mixed(digest: Int, word: Int) -> Int:
    digest = (digest ^ word) * _SPREAD
    return digest ^ (digest >> np.uint64(29))


@kernel
def digest_rows(
    indptr: Int64,
    indices: Int32,
    quantised: Int32,
    label_indptr: Int64,
    label_indices: Int32,
    digests: Uint64,
) -> None:
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
def mark_right(
    candidates: Int32, label_indptr: Int64, label_indices: Int32, first: Int, right: Uint8
) -> None:
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
