"""How large a frequent feature's values are, in one bit: what a second bitmap tells of them.

A row's scale is 1 / sqrt(its size), the root mean square of a unit row's values. Each frequent
feature has two levels, small and large: every value is at most scale * large, and those without a
bit in the second bitmap at most scale * small. Features whose values are much alike have one
bitmap. The few values beyond stay in the feature's inverted list, as a rare feature's do, so that
one huge value does not raise the level of all.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels.cache import inline, kernel
from swnn_kernels.fixed_point import FRACTION_BITS
from swnn_kernels.vectors import float_bits, half_to_float

_OUTSIDE = 0.005  # share of a feature's values that may be left to its list
_ALIKE = 0.85  # mean of the levels over the large one from which one bitmap is enough
_BUCKETS = 128  # of a feature's ratios value / scale, eight to an octave
_SHIFT = np.uint32(20)
_LOWEST = (127 - 10) * 8  # ratios of 2**-10 and less fall into the first bucket
_UNIT = 2.0**FRACTION_BITS


@inline
def ratio_of(unit, scale):  # type: ignore[no-untyped-def]
    """Ratio of a value to its row's scale, rounded up."""
    return np.float32(abs(np.float64(unit)) / (_UNIT * np.float64(scale)) * (1.0 + 2.0**-22))


@inline
def bucket_of_ratio(unit, ratio):  # type: ignore[no-untyped-def]
    """Bucket of a ratio; the last one is for the unit whose lower part would not fit a byte."""
    if unit >= _UNIT:
        return np.int64(_BUCKETS - 1)
    return min(max(np.int64(float_bits(ratio) >> _SHIFT) - _LOWEST, 0), _BUCKETS - 2)


@kernel
def _scales(row_sizes, scales):  # type: ignore[no-untyped-def]
    for row in range(row_sizes.size):
        scale = np.float32((1.0 + 2.0**-20) / np.sqrt(np.float64(max(1, row_sizes[row]))))
        scales[row] = np.uint16((float_bits(scale) + np.uint32(0xFFFF)) >> np.uint32(16))


def scales_of(row_sizes: np.ndarray) -> np.ndarray:
    """Scale of every row, rounded up to the upper half of a float32."""
    scales = np.empty(row_sizes.size, dtype=np.uint16)
    _scales(row_sizes, scales)
    return scales


@kernel
def _tally(indptr, indices, units, local, scales, counts, tops):  # type: ignore[no-untyped-def]
    """Count every frequent feature's ratios by bucket, and find the largest of each bucket."""
    for row in range(indptr.size - 1):
        scale = half_to_float(scales[row])
        for p in range(indptr[row], indptr[row + 1]):
            number = local[indices[p]]
            if number >= 0:
                ratio = ratio_of(units[p], scale)
                bucket = bucket_of_ratio(units[p], ratio)
                counts[number, bucket] += 1
                tops[number, bucket] = max(tops[number, bucket], ratio)


@kernel
def _choose(counts, tops, small, large, last):  # type: ignore[no-untyped-def]
    """Choose every feature's levels and the last bucket of values that are not left to its list."""
    for number in range(small.size):
        total = np.int64(0)
        for b in range(_BUCKETS):
            total += counts[number, b]
        bucket = _BUCKETS - 2
        outside = np.int64(counts[number, _BUCKETS - 1])
        while bucket > 0 and outside + counts[number, bucket] <= _OUTSIDE * total:
            outside += counts[number, bucket]
            bucket -= 1
        last[number] = bucket
        top = np.float32(0.0)
        for b in range(bucket + 1):
            top = max(top, tops[number, b])
        # The small level saves (large - small) for every value up to it.
        best, below = 0.0, np.int64(0)
        small[number] = top
        large[number] = top
        for b in range(bucket + 1):
            below += counts[number, b]
            saved = below * (np.float64(top) - np.float64(tops[number, b]))
            if tops[number, b] > 0.0 and saved > max(
                best, (1.0 - _ALIKE) * top * (total - outside)
            ):
                best = saved
                small[number] = tops[number, b]


def choose_levels(
    indptr: np.ndarray,
    indices: np.ndarray,
    units: np.ndarray,
    local: np.ndarray,
    scales: np.ndarray,
    n_frequent: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Choose the levels of the frequent features.

    Returns
    -------
    small, large : arrays of float32, (n_frequent,)
        Equal where one bitmap is enough.
    last : array of int32, (n_frequent,)
        Last bucket of ratios that are not left to the feature's list.
    outside : array of int64, (n_frequent,)
        Number of values that are.
    """
    counts = np.zeros((n_frequent, _BUCKETS), dtype=np.int64)
    tops = np.zeros((n_frequent, _BUCKETS), dtype=np.float32)
    _tally(indptr, indices, units, local, scales, counts, tops)
    small = np.zeros(n_frequent, dtype=np.float32)
    large = np.zeros(n_frequent, dtype=np.float32)
    last = np.zeros(n_frequent, dtype=np.int32)
    _choose(counts, tops, small, large, last)
    beyond = np.arange(_BUCKETS) > last[:, None]
    return small, large, last, np.where(beyond, counts, 0).sum(axis=1)
