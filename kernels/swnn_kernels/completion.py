"""Rows that may belong to the answer: kept pending, then completed in a good order."""

from __future__ import annotations

import numpy as np

from swnn_kernels.bounds import MARGIN
from swnn_kernels.cache import inline, routine
from swnn_kernels.heap import push
from swnn_kernels.similarity import similarity
from swnn_kernels.vectors import bits_to_float, float_bits, prefetch

PENDING = 8192
"""Room for pending rows."""
BUCKETS = 1024
_SHIFT = np.uint32(18)  # a bucket for every 32nd part of an octave
_LOWEST = np.int64(95 * 32)  # of 2**-32 and less: the first bucket

_AHEAD = 8  # completions between the request for a row's memory and its use


@inline
def bucket_of(value):  # type: ignore[no-untyped-def]
    """Map a bound to its bucket; larger bounds have larger buckets."""
    if value <= np.float32(0.0):
        return np.int64(0)
    return min(max(np.int64(float_bits(value) >> _SHIFT) - _LOWEST, 0), BUCKETS - 1)


@inline
def cut_value(bucket):  # type: ignore[no-untyped-def]
    """Find the lowest value of a bucket."""
    if bucket <= 0:
        return np.float32(0.0)
    return bits_to_float(np.uint32((bucket + _LOWEST) << np.int64(_SHIFT)))


@routine
def nth_largest(values, size, n, histogram):  # type: ignore[no-untyped-def]
    """Find a bucket so that at least n of the values lie in it or above; 0 if all buckets do."""
    for b in range(BUCKETS):
        histogram[b] = 0
    for i in range(size):
        histogram[bucket_of(values[i])] += 1
    count = 0
    b = BUCKETS - 1
    while b > 0:
        count += histogram[b]
        if count >= n:
            break
        b -= 1
    return b


@inline
def threshold(work, found, n_neighbors):  # type: ignore[no-untyped-def]
    """Get what a row must reach: the worst similarity of a full heap, less the margin, or 0."""
    if found < n_neighbors:
        return np.float32(0.0)
    return np.float32(work.sims[0] * MARGIN)


@inline
def complete(split, table, row, acc):  # type: ignore[no-untyped-def]
    """Exact integer dot of a row: its rare part is in the accumulator."""
    dot = acc >> 16
    for p in range(split.ends[row], split.ends[row + 1]):
        number = np.uint64(split.ids[np.uint64(p)])
        dot += np.int64(table[number]) * np.int64(split.forward[np.uint64(p)])
    return dot


@inline
def count_shared(split, member, row):  # type: ignore[no-untyped-def]
    """Count the query's frequent features that a row has."""
    count = np.int64(0)
    for p in range(split.ends[row], split.ends[row + 1]):
        count += np.int64(member[np.uint64(split.ids[np.uint64(p)])])
    return count


@inline
def _fetch_row(split, row):  # type: ignore[no-untyped-def]
    """Ask for a row's forward part, up to 16 cache lines."""
    first = split.ends[row]
    last = min(split.ends[row + 1], first + 192)
    for p in range(first, last + 15, 16):
        prefetch(split.forward, p)
    for p in range(first, last + 31, 32):
        prefetch(split.ids, p)


@routine
def complete_listed(split, work, scratch, count, found, n_neighbors, size, beta):  # type: ignore[no-untyped-def]
    """Complete the rows of ``scratch.order``; the new size of the heap."""
    for i in range(count):
        if i + _AHEAD < count:
            _fetch_row(split, scratch.rows[scratch.order[i + _AHEAD]])
        place = scratch.order[i]
        if scratch.bounds[place] < threshold(work, found, n_neighbors):
            continue
        row = scratch.rows[place]
        dot = complete(split, scratch.table, row, scratch.accs[place])
        scratch.tally[2] += 1
        if dot > 0:
            overlap = scratch.overlaps[place]
            if overlap < 0:
                overlap = (scratch.accs[place] & 0xFFFF) + count_shared(split, scratch.member, row)
            sim = similarity(dot, overlap, size, split.row_sizes[row], beta)
            if sim > 0.0:
                found = push(work.sims, work.rows, found, n_neighbors, sim, row)
    return found


@routine
def complete_best(split, work, scratch, pending, found, n_neighbors, size, beta):  # type: ignore[no-untyped-def]
    """Complete the pending rows with the S largest bounds; new sizes of heap and pending."""
    cut = nth_largest(scratch.bounds, pending, n_neighbors, scratch.histogram)
    count = 0
    for i in range(pending):
        if bucket_of(scratch.bounds[i]) >= cut:
            scratch.order[count] = i
            count += 1
    found = complete_listed(split, work, scratch, count, found, n_neighbors, size, beta)
    theta = threshold(work, found, n_neighbors)
    kept = 0
    for i in range(pending):
        if bucket_of(scratch.bounds[i]) < cut and scratch.bounds[i] >= theta:
            scratch.rows[kept] = scratch.rows[i]
            scratch.overlaps[kept] = scratch.overlaps[i]
            scratch.accs[kept] = scratch.accs[i]
            scratch.bounds[kept] = scratch.bounds[i]
            kept += 1
    return found, kept


@routine
def complete_all(split, work, scratch, pending, found, n_neighbors, size, beta):  # type: ignore[no-untyped-def]
    """Complete all pending rows that can still matter, the best bounds first."""
    found, pending = complete_best(split, work, scratch, pending, found, n_neighbors, size, beta)
    for i in range(pending):
        scratch.order[i] = i
    return complete_listed(split, work, scratch, pending, found, n_neighbors, size, beta)
