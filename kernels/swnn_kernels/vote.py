"""Neighbours vote for their labels: exact int64 sums in a small hash table, then the best k."""

from __future__ import annotations

import numpy as np

from swnn_kernels.cache import inline
from swnn_kernels.heap import push, sort_best_first
from swnn_kernels.similarity import vote_weight

_EMPTY = -1
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio: spreads neighbouring labels


@inline
def _add(keys, sums, shift, mask, label, weight):  # type: ignore[no-untyped-def]
    slot = np.int64((np.uint64(label) * _SPREAD) >> shift) & mask
    while keys[slot] != label:
        if keys[slot] == _EMPTY:
            keys[slot] = label
            sums[slot] = 0
            break
        slot = (slot + 1) & mask
    sums[slot] += weight


@inline
def vote(labels, rows, sims, found, alpha, work, k):  # type: ignore[no-untyped-def]
    """Fill ``work.best_sums`` and ``work.best_labels``, best first; the number of labels.

    The table is cut to twice the votes of this query, so nothing as long as the number of labels
    is cleared.
    """
    votes = 0
    for i in range(found):
        votes += labels.starts[rows[i] + 1] - labels.starts[rows[i]]
    bits = 1
    while (1 << bits) < 2 * votes and (1 << bits) < work.keys.size:
        bits += 1
    size = 1 << bits
    work.keys[:size] = _EMPTY
    shift = np.uint64(64 - bits)
    for i in range(found):
        weight = vote_weight(sims[i], alpha)
        for p in range(labels.starts[rows[i]], labels.starts[rows[i] + 1]):
            _add(work.keys, work.sums, shift, size - 1, np.int64(labels.ids[p]), weight)
    held = 0
    for slot in range(size):
        if work.keys[slot] != _EMPTY:
            held = push(work.best_sums, work.best_labels, held, k, work.sums[slot], work.keys[slot])
    sort_best_first(work.best_sums, work.best_labels, held)
    return held
