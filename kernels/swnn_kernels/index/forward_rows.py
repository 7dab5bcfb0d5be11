"""Forward rows: a row's frequent features, the largest values first.

So a rescoring may stop after a row's largest values: the rest can add only little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swnn_kernels._numba import inline, leading_zeros
from swnn_kernels.dtypes import Int64, Uint8, Uint32
from swnn_kernels.index.forward_entries import quantised_of

_SIZES = 128  # buckets of magnitudes, four to an octave: within one, the order does not matter


class SortBuffers(NamedTuple):
    """Memory to sort a row of a given length in."""

    hi: Uint32
    lo: Uint8
    histogram: Int64  # (_SIZES,)


def sort_buffers(longest: int) -> SortBuffers:
    """Memory to sort rows of at most ``longest`` entries in."""
    return SortBuffers(
        np.empty(longest, dtype=np.uint32),
        np.empty(longest, dtype=np.uint8),
        np.zeros(_SIZES, dtype=np.int64),
    )


@inline
def _bucket_of(quantised):  # type: ignore[no-untyped-def]
    """Bucket of a value's magnitude: its width and its two bits below the first."""
    magnitude = abs(np.int64(quantised))
    width = 64 - leading_zeros(magnitude)
    return 4 * width + ((magnitude << 2 >> max(0, width - 1)) & 3)


@inline
def sort_row(index, first, last, buffers):  # type: ignore[no-untyped-def]
    """Sort the entries first..last of the forward rows by falling magnitude."""
    hi, lo, histogram = index.forward_hi, index.forward_lo, buffers.histogram
    histogram[:] = 0
    for p in range(first, last):
        buffers.hi[p - first] = hi[p]
        buffers.lo[p - first] = lo[p]
        histogram[_bucket_of(quantised_of(hi[p], lo[p]))] += 1
    slot = first
    for bucket in range(_SIZES - 1, -1, -1):
        count = histogram[bucket]
        histogram[bucket] = slot
        slot += count
    for i in range(last - first):
        bucket = _bucket_of(quantised_of(buffers.hi[i], buffers.lo[i]))
        hi[histogram[bucket]] = buffers.hi[i]
        lo[histogram[bucket]] = buffers.lo[i]
        histogram[bucket] += 1
