"""Neighbours vote for their labels: exact int64 sums in a small hash table, then the best k."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swnn_kernels._numba import inline
from swnn_kernels.dtypes import Int64
from swnn_kernels.heap import push, sort_best_first
from swnn_kernels.similarity import vote_weight

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
def _add(buffers, bits, label, weight):  # type: ignore[no-untyped-def]
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
def _table_bits(labels, buffers, rows, found):  # type: ignore[no-untyped-def]
    """Size of the hash table for one query, twice its votes: nothing longer is cleared."""
    votes = 0
    for i in range(found):
        votes += labels.indptr[rows[i] + 1] - labels.indptr[rows[i]]
    bits = 1
    while (1 << bits) < 2 * votes and (1 << bits) < buffers.slot_labels.size:
        bits += 1
    return bits


@inline
def vote(labels, buffers, rows, sims, found, alpha):  # type: ignore[no-untyped-def]
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
