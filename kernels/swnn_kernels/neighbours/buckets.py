"""Upper bounds sorted into buckets, 32 to an octave: cheap selection and ordering."""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import bits_to_float, float_bits, inline, routine
from swnn_kernels.neighbours.sizes import BUCKETS

_SHIFT = np.uint32(18)  # a bucket for every 32nd part of an octave
_LOWEST = np.int64(95 * 32)  # of 2**-32 and less: the first bucket


@inline
def bucket_of(value):  # type: ignore[no-untyped-def]
    """Map a bound to its bucket; larger bounds have larger buckets."""
    if value <= np.float32(0.0):
        return np.int64(0)
    return min(max(np.int64(float_bits(value) >> _SHIFT) - _LOWEST, 0), BUCKETS - 1)


@inline
def lowest_in(bucket):  # type: ignore[no-untyped-def]
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
def order_by_bounds(bounds, size, histogram, order):  # type: ignore[no-untyped-def]
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
