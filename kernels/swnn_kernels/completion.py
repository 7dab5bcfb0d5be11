"""Rows that may belong to the answer: kept pending, then completed in a good order."""

from __future__ import annotations

import numpy as np

from swnn_kernels.bounds import MARGIN
from swnn_kernels.cache import inline, routine
from swnn_kernels.fixed_point import COS_SCALE
from swnn_kernels.heap import push
from swnn_kernels.pairs import LARGEST_LOW, LOW_BITS, high_in, key_of, number_of
from swnn_kernels.similarity import similarity
from swnn_kernels.vectors import bits_to_float, float_bits, half_to_float, prefetch

PENDING = 8192
"""Room for pending rows."""
BUCKETS = 1024
_SHIFT = np.uint32(18)  # a bucket for every 32nd part of an octave
_LOWEST = np.int64(95 * 32)  # of 2**-32 and less: the first bucket

_TINY = 1e-30  # below, numbers are too coarse for the margin: nothing is left out by them
_AHEAD = 4  # completions between the request for a row's memory and its use
_BLOCK = 16  # forward values in a cache line
_FETCHED = 12 * _BLOCK  # forward values of a row that are asked for
_LEAVING = 2 * _BLOCK  # forward values between two looks whether to go on


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


@inline
def _fill(histogram, values, size):  # type: ignore[no-untyped-def]
    """Count the values in each bucket."""
    for b in range(BUCKETS):
        histogram[b] = 0
    for i in range(size):
        histogram[bucket_of(values[i])] += 1


@routine
def nth_largest(values, size, n, histogram):  # type: ignore[no-untyped-def]
    """Find a bucket so that at least n of the values lie in it or above; 0 if all buckets do."""
    _fill(histogram, values, size)
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
    if found < n_neighbors or work.sims[0] < _TINY:
        return np.float32(0.0)
    return np.float32(work.sims[0] * MARGIN)


@inline
def add_pending(scratch, pending, row, overlap, acc, weight, bound):  # type: ignore[no-untyped-def]
    """Put a row among the pending ones; their number. What is not known of it is -1."""
    scratch.rows[pending] = row
    scratch.overlaps[pending] = overlap
    scratch.accs[pending] = acc
    scratch.weights_of[pending] = weight
    scratch.bounds[pending] = bound
    return pending + 1


@inline
def _lower_dot(pairs, lows, table, first, last):  # type: ignore[no-untyped-def]
    """Dot of the lower parts."""
    dot = np.int64(0)
    for p in range(first, last):
        number = np.uint64(number_of(pairs[np.uint64(p)]))
        dot += np.int64(table[number]) * np.int64(lows[np.uint64(p)])
    return dot


@inline
def _count_shared(split, member, first, last):  # type: ignore[no-untyped-def]
    """Count the query's frequent features that a row has."""
    count = np.int64(0)
    for p in range(first, last):
        count += np.int64(member[np.uint64(number_of(split.pairs[np.uint64(p)]))])
    return count


@inline
def _fetch_row(split, row):  # type: ignore[no-untyped-def]
    """Ask for the beginning of a row's forward part."""
    first = split.ends[row]
    last = min(split.ends[row + 1], first + _FETCHED)
    for p in range(first, last, _BLOCK):
        prefetch(split.pairs, p)
    prefetch(split.lows, first)
    prefetch(split.lows, last)


@inline
def _goal(sim, overlap, size, row_size, beta):  # type: ignore[no-untyped-def]
    """Least dot that a row of this overlap must have to reach a similarity, less the margin."""
    if sim < _TINY:
        return -np.inf
    goal = sim * (MARGIN / COS_SCALE)
    if beta == 0.0:
        return goal
    ratio = np.float64(size + row_size - overlap) / np.float64(overlap)
    goal *= ratio if beta == 1.0 else ratio**beta
    return goal if goal < np.inf else -np.inf


@inline
def _upper_dot(split, scratch, first, last, dot, weight, weight_unit, goal):  # type: ignore[no-untyped-def]
    """Add the upper parts of a forward row to a dot, while it can reach the goal; and whether.

    ``dot`` comes as a bound on all but the upper parts of the forward row's values. What those not
    seen yet can add is known from the row's sum of weights, less the shares of those seen.
    """
    upper = np.int64(0)
    p = first
    while p < last:
        block = min(p + _LEAVING, last)
        while p < block:
            pair = split.pairs[np.uint64(p)]
            key = np.uint64(key_of(pair))
            upper += np.int64(scratch.table[key >> np.uint64(1)]) * high_in(pair)
            weight -= np.int64(scratch.shares[key])
            p += 1
        if np.float64(dot + (upper << LOW_BITS)) + np.float64(weight) * weight_unit < goal:
            return dot, False
    return dot + (upper << LOW_BITS), True


@inline
def _complete(split, work, scratch, place, found, n_neighbors, size, beta):  # type: ignore[no-untyped-def]
    """Offer a pending row to the heap; its new size.

    The listed part of the dot is in the accumulator. The lower parts of the units add at most 255
    times the query's positive units; similarity rises with the dot even as rounded, so a row that
    does not reach the heap with that much more does not belong there.
    """
    row, acc, overlap = scratch.rows[place], scratch.accs[place], scratch.overlaps[place]
    first, last = split.ends[row], split.ends[row + 1]
    row_size = np.int64(split.row_sizes[row])
    lower = LARGEST_LOW * scratch.positive[0]
    weight, goal = scratch.weights_of[place], -np.inf
    if found == n_neighbors and weight >= 0:
        goal = _goal(work.sims[0], overlap, size, row_size, beta)
    weight_unit = scratch.weight_step[0] * np.float64(half_to_float(split.scales[row]))
    most, reaches = _upper_dot(
        split, scratch, first, last, (acc >> 16) + lower, weight, weight_unit, goal
    )
    if not reaches or most <= 0:
        return found
    if overlap < 0:
        overlap = (acc & 0xFFFF) + _count_shared(split, scratch.member, first, last)
    if found == n_neighbors and similarity(most, overlap, size, row_size, beta) < work.sims[0]:
        return found
    dot = most - lower + _lower_dot(split.pairs, split.lows, scratch.table, first, last)
    if dot <= 0:
        return found
    sim = similarity(dot, overlap, size, row_size, beta)
    if sim > 0.0:
        found = push(work.sims, work.rows, found, n_neighbors, sim, row)
    return found


@routine
def complete_listed(split, work, scratch, count, found, n_neighbors, size, beta):  # type: ignore[no-untyped-def]
    """Complete the rows of ``scratch.order``; the new size of the heap."""
    for i in range(count):
        theta = threshold(work, found, n_neighbors)
        if i + _AHEAD < count:
            ahead = scratch.order[i + _AHEAD]
            if scratch.bounds[ahead] >= theta:
                _fetch_row(split, scratch.rows[ahead])
        place = scratch.order[i]
        if scratch.bounds[place] < theta:
            continue
        scratch.tally[2] += 1
        found = _complete(split, work, scratch, place, found, n_neighbors, size, beta)
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
            kept = add_pending(
                scratch, kept, scratch.rows[i], scratch.overlaps[i], scratch.accs[i],
                scratch.weights_of[i], scratch.bounds[i],
            )  # fmt: skip
    return found, kept


@routine
def order_by_bounds(bounds, pending, histogram, order):  # type: ignore[no-untyped-def]
    """List the pending rows by falling buckets of their bounds."""
    _fill(histogram, bounds, pending)
    at = np.int32(0)
    for b in range(BUCKETS - 1, -1, -1):
        count = histogram[b]
        histogram[b] = at
        at += count
    for i in range(pending):
        b = bucket_of(bounds[i])
        order[histogram[b]] = i
        histogram[b] += 1


@routine
def complete_all(split, work, scratch, pending, found, n_neighbors, size, beta):  # type: ignore[no-untyped-def]
    """Complete all pending rows that can still matter, the best bounds first."""
    order_by_bounds(scratch.bounds, pending, scratch.histogram, scratch.order)
    return complete_listed(split, work, scratch, pending, found, n_neighbors, size, beta)
