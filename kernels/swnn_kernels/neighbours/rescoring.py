"""Candidates: rows whose upper bound reaches the threshold, rescored in a good order.

Rescoring completes a row's dot product from its forward row, as long as the row can still reach the
threshold, and offers it to the heap. Bounds are sorted into buckets, 32 to an octave: a cheap way
to find the n-th largest, and to rescore the best rows first.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import bits_to_float, float_bits, half_to_float, inline, routine
from swnn_kernels._numba.intrinsics import prefetch
from swnn_kernels.fixed_point import similarity
from swnn_kernels.heap import push
from swnn_kernels.index.arrays import (
    LARGEST_LO,
    LO_BITS,
    PrunedIndex,
    frequent_id_of,
    high_bits_of,
    key_of,
)
from swnn_kernels.neighbours.bounds import MARGIN
from swnn_kernels.neighbours.records import (
    BUCKETS,
    OVERLAP_MASK,
    PACK_BITS,
    Candidate,
    PruneBuffers,
    Query,
)
from swnn_kernels.records import COS_SCALE, Bool, Float, Float32, Int, Int32

_SHIFT = np.uint32(18)  # a bucket for every 32nd part of an octave
_LOWEST = np.int64(95 * 32)  # of 2**-32 and less: the first bucket


@inline
def bucket_of(value: Float) -> Int:
    """Map a bound to its bucket; larger bounds have larger buckets."""
    if value <= np.float32(0.0):
        return np.int64(0)
    return min(max(np.int64(float_bits(value) >> _SHIFT) - _LOWEST, 0), BUCKETS - 1)


@inline
def lowest_in(bucket: Int) -> Float:
    """Find the lowest value of a bucket."""
    if bucket <= 0:
        return np.float32(0.0)
    return bits_to_float(np.uint32((bucket + _LOWEST) << np.int64(_SHIFT)))


@inline
def _fill(histogram: Int32, values: Float32, size: Int) -> None:
    """Count the values in each bucket."""
    for b in range(BUCKETS):
        histogram[b] = 0
    for i in range(size):
        histogram[bucket_of(values[i])] += 1


@routine
def nth_largest(values: Float32, size: Int, n: Int, histogram: Int32) -> Int:
    """Find a bucket such that at least n values lie in it or above; return 0 if all buckets do."""
    _fill(histogram, values, size)
    count = 0
    b = BUCKETS - 1
    while b > 0:
        count += histogram[b]
        if count >= n:
            break
        b -= 1
    return b


@routine
def order_by_bounds(bounds: Float32, size: Int, histogram: Int32, order: Int32) -> None:
    """List the slots of bounds by falling buckets."""
    _fill(histogram, bounds, size)
    at = np.int32(0)
    for b in range(BUCKETS - 1, -1, -1):
        count = histogram[b]
        histogram[b] = at
        at += count
        if at == size:
            break
    for i in range(size):
        b = bucket_of(bounds[i])
        order[histogram[b]] = i
        histogram[b] += 1


_TINY = 1e-30  # below this, float32 is too coarse for the margin: do not prune
_AHEAD = 4  # rescorings between prefetching a row and its use
_LINE = 16  # forward entries in a cache line
_PREFETCHED = 12 * _LINE  # forward entries of a row that are prefetched
_CHECK_EVERY = 2 * _LINE  # forward entries between two checks whether the row can still matter


@inline
def threshold_of(query: Query, found: Int) -> Float:
    """Threshold: the S-th best similarity so far, less the margin; 0 until S are found."""
    worst = query.buffers.sims[0]
    if found < query.n_neighbors or worst < _TINY:
        return np.float32(0.0)
    return np.float32(worst * MARGIN)


@inline
def add_candidate(prune: PruneBuffers, slot: Int, candidate: Candidate) -> Int:
    """Put a candidate into a slot; return the next slot."""
    prune.candidate_rows[slot] = candidate.row
    prune.candidate_overlaps[slot] = candidate.overlap
    prune.candidate_accumulators[slot] = candidate.accumulator
    prune.candidate_bound_steps[slot] = candidate.bound_steps
    prune.candidate_bounds[slot] = candidate.bound
    return slot + 1


@inline
def _candidate_at(prune: PruneBuffers, slot: Int) -> Candidate:
    return Candidate(
        prune.candidate_rows[slot], prune.candidate_overlaps[slot],
        prune.candidate_accumulators[slot], prune.candidate_bound_steps[slot],
        prune.candidate_bounds[slot],
    )  # fmt: skip


@inline
def _dot_of_low_bits(query: Query, first: Int, last: Int) -> Int:
    """Dot product of the query and the low 8 bits of a forward row's values."""
    index, quantised = query.index, query.prune.query_quantised
    dot = np.int64(0)
    for p in range(first, last):
        frequent = np.uint64(frequent_id_of(index.forward_hi[np.uint64(p)]))
        dot += np.int64(quantised[frequent]) * np.int64(index.forward_lo[np.uint64(p)])
    return dot


@inline
def _count_shared(query: Query, first: Int, last: Int) -> Int:
    """Count the query's frequent features that a row has."""
    count = np.int64(0)
    for p in range(first, last):
        frequent = np.uint64(frequent_id_of(query.index.forward_hi[np.uint64(p)]))
        count += np.int64(query.prune.is_in_query[frequent])
    return count


@inline
def _prefetch_row(index: PrunedIndex, row: Int) -> None:
    """Prefetch the beginning of a forward row."""
    first = index.forward_indptr[row]
    last = min(index.forward_indptr[row + 1], first + _PREFETCHED)
    for p in range(first, last, _LINE):
        prefetch(index.forward_hi, p)
    prefetch(index.forward_lo, first)
    prefetch(index.forward_lo, last)


@inline
def _dot_needed(query: Query, overlap: Int, row_size: Int) -> Float:
    """Least dot with which a row of this overlap enters the full heap, less the margin."""
    sim, beta = query.buffers.sims[0], query.beta
    if sim < _TINY:
        return -np.inf
    dot = sim * (MARGIN / COS_SCALE)
    if beta == 0.0:
        return dot
    ratio = np.float64(query.size + row_size - overlap) / np.float64(overlap)
    dot *= ratio if beta == 1.0 else ratio**beta
    return dot if dot < np.inf else -np.inf


@inline
def _add_high_bits(
    query: Query, candidate: Candidate, span: tuple[Int, Int], dot: Int, dot_needed: Float
) -> tuple[Int, Bool]:
    """Add the high bits of a forward row to a dot; return it, and whether it reaches what it needs.

    ``dot`` comes as a bound on all but the high bits of the forward row's values. What those not
    seen yet can add is known from the row's sum of weights, less the weights of those seen.
    """
    index, prune = query.index, query.prune
    scale = np.float64(half_to_float(index.row_scales[candidate.row]))
    step = prune.weight_step[0] * scale
    bound_steps = candidate.bound_steps
    upper = np.int64(0)
    p, last = span
    while p < last:
        block = min(p + _CHECK_EVERY, last)
        while p < block:
            hi = index.forward_hi[np.uint64(p)]
            key = np.uint64(key_of(hi))
            upper += np.int64(prune.query_quantised[key >> np.uint64(1)]) * high_bits_of(hi)
            bound_steps -= np.int64(prune.key_weights[key])
            p += 1
        if np.float64(dot + (upper << LO_BITS)) + np.float64(bound_steps) * step < dot_needed:
            return dot, False
    return dot + (upper << LO_BITS), True


@inline
def _rescore(query: Query, candidate: Candidate, found: Int) -> Int:
    """Offer a candidate to the heap; return its new size.

    The listed part of the dot is in the accumulator. The low 8 bits of the values add at most 255
    times the query's positive values; similarity rises with the dot even as rounded, so a row that
    does not reach the heap with that much more does not belong there.
    """
    index, buffers, overlap = query.index, query.buffers, candidate.overlap
    first = index.forward_indptr[candidate.row]
    last = index.forward_indptr[candidate.row + 1]
    row_size = np.int64(index.row_sizes[candidate.row])
    low_bits_bound = LARGEST_LO * query.prune.positive_sum[0]
    dot_needed = -np.inf
    if found == query.n_neighbors and candidate.bound_steps >= 0:
        dot_needed = _dot_needed(query, overlap, row_size)
    listed = candidate.accumulator >> PACK_BITS
    upper, reaches = _add_high_bits(
        query, candidate, (first, last), listed + low_bits_bound, dot_needed
    )
    if not reaches or upper <= 0:
        return found
    if overlap < 0:
        overlap = (candidate.accumulator & OVERLAP_MASK) + _count_shared(query, first, last)
    best = similarity(upper, overlap, query.size, row_size, query.beta)
    if found == query.n_neighbors and best < buffers.sims[0]:
        return found
    dot = upper - low_bits_bound + _dot_of_low_bits(query, first, last)
    if dot <= 0:
        return found
    sim = similarity(dot, overlap, query.size, row_size, query.beta)
    if sim > 0.0:
        found = push(buffers.sims, buffers.rows, found, query.n_neighbors, sim, candidate.row)
    return found


@routine
def rescore_ordered(query: Query, count: Int, found: Int) -> Int:
    """Rescore the first candidates of ``order``; return the new size of the heap."""
    prune = query.prune
    for i in range(count):
        threshold = threshold_of(query, found)
        if i + _AHEAD < count:
            ahead = prune.order[i + _AHEAD]
            if prune.candidate_bounds[ahead] >= threshold:
                _prefetch_row(query.index, prune.candidate_rows[ahead])
        slot = prune.order[i]
        if prune.candidate_bounds[slot] < threshold:
            continue
        prune.rows_rescored[0] += 1
        found = _rescore(query, _candidate_at(prune, slot), found)
    return found


@routine
def rescore_best(query: Query, n_candidates: Int, found: Int) -> tuple[Int, Int]:
    """Rescore the candidates of the S largest bounds; return heap size and candidates left."""
    prune, bounds = query.prune, query.prune.candidate_bounds
    lowest_bucket = nth_largest(bounds, n_candidates, query.n_neighbors, prune.histogram)
    count = 0
    for i in range(n_candidates):
        if bucket_of(bounds[i]) >= lowest_bucket:
            prune.order[count] = i
            count += 1
    found = rescore_ordered(query, count, found)
    threshold = threshold_of(query, found)
    kept = 0
    for i in range(n_candidates):
        if bucket_of(bounds[i]) < lowest_bucket and bounds[i] >= threshold:
            kept = add_candidate(prune, kept, _candidate_at(prune, i))
    return found, kept


@routine
def rescore_all(query: Query, n_candidates: Int, found: Int) -> Int:
    """Rescore all candidates that can still matter, the best bounds first."""
    prune = query.prune
    order_by_bounds(prune.candidate_bounds, n_candidates, prune.histogram, prune.order)
    return rescore_ordered(query, n_candidates, found)
