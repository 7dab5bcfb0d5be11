"""Two levels of a frequent feature's values, which its bitmaps tell apart: small and large.

A row's scale is 1 / sqrt(its size), the root mean square of a unit row's values. Every value of a
frequent feature is at most scale * large, and those without a bit in the feature's second bitmap
are at most scale * small. Features whose values are much alike have one bitmap. The few values
beyond stay in the feature's postings list, as a rare feature's do, so that one huge value does not
raise the level of all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swnn_kernels._numba import (
    float_bits,
    half_to_float,
    inline,
    kernel,
    struct_view,
    table,
)
from swnn_kernels.records import Rows
from swnn_kernels.scales import FRACTION_BITS

_MOST_LISTED = 0.005  # share of a feature's values that may stay in its list
_ALIKE = 0.85  # mean of the levels over the large one from which one bitmap is enough
_BUCKETS = 128  # of a feature's ratios value / scale, eight to an octave
_SHIFT = np.uint32(20)
_LOWEST = (127 - 10) * 8  # ratios of 2**-10 and less fall into the first bucket
_ONE = 2.0**FRACTION_BITS

_open_rows = struct_view(Rows)


class Levels(NamedTuple):
    """The levels of the frequent features, and which values stay in their lists."""

    small: np.ndarray  # float32
    large: np.ndarray  # float32; equal to small where one bitmap is enough
    last_bucket: np.ndarray  # int32: the last bucket of ratios that leave the list
    n_listed: np.ndarray  # int64: number of values that stay


@inline
def ratio_of(quantised, scale):  # type: ignore[no-untyped-def]
    """Ratio of a value to its row's scale, rounded up."""
    return np.float32(abs(np.float64(quantised)) / (_ONE * np.float64(scale)) * (1.0 + 2.0**-22))


@inline
def bucket_of_ratio(quantised, ratio):  # type: ignore[no-untyped-def]
    """Bucket of a ratio; the last one is for the value 1, which does not fit a forward entry."""
    if quantised >= _ONE:
        return np.int64(_BUCKETS - 1)
    return min(max(np.int64(float_bits(ratio) >> _SHIFT) - _LOWEST, 0), _BUCKETS - 2)


@kernel
def _fill_scales(row_sizes, scales):  # type: ignore[no-untyped-def]
    for row in range(row_sizes.size):
        scale = np.float32((1.0 + 2.0**-20) / np.sqrt(np.float64(max(1, row_sizes[row]))))
        scales[row] = np.uint16((float_bits(scale) + np.uint32(0xFFFF)) >> np.uint32(16))


def scales_of(row_sizes: np.ndarray) -> np.ndarray:
    """Scale of every row, rounded up to the upper half of a float32."""
    scales = np.empty(row_sizes.size, dtype=np.uint16)
    _fill_scales(row_sizes, scales)
    return scales


@kernel
def _count_ratios(rows_table, frequent_id, scales, counts, tops):  # type: ignore[no-untyped-def]
    """Count every frequent feature's ratios by bucket, and find the largest of each bucket."""
    rows = _open_rows(rows_table)
    for row in range(rows.indptr.size - 1):
        scale = half_to_float(scales[row])
        for p in range(rows.indptr[row], rows.indptr[row + 1]):
            feature = frequent_id[rows.indices[p]]
            if feature >= 0:
                ratio = ratio_of(rows.quantised[p], scale)
                bucket = bucket_of_ratio(rows.quantised[p], ratio)
                counts[feature, bucket] += 1
                tops[feature, bucket] = max(tops[feature, bucket], ratio)


@inline
def _last_bucket(counts, total):  # type: ignore[no-untyped-def]
    """The last bucket that leaves the list, and the number of values beyond it."""
    bucket = _BUCKETS - 2
    listed = np.int64(counts[_BUCKETS - 1])
    while bucket > 0 and listed + counts[bucket] <= _MOST_LISTED * total:
        listed += counts[bucket]
        bucket -= 1
    return bucket, listed


@kernel
def _choose(counts, tops, small, large, last_bucket):  # type: ignore[no-untyped-def]
    """Choose every feature's levels and the last bucket of values that leave its list."""
    for feature in range(small.size):
        total = np.int64(0)
        for b in range(_BUCKETS):
            total += counts[feature, b]
        bucket, listed = _last_bucket(counts[feature], total)
        last_bucket[feature] = bucket
        top = np.float32(0.0)
        for b in range(bucket + 1):
            top = max(top, tops[feature, b])
        # The small level saves (large - small) for every value up to it.
        best, below = 0.0, np.int64(0)
        small[feature] = top
        large[feature] = top
        for b in range(bucket + 1):
            below += counts[feature, b]
            saved = below * (np.float64(top) - np.float64(tops[feature, b]))
            if tops[feature, b] > 0.0 and saved > max(
                best, (1.0 - _ALIKE) * top * (total - listed)
            ):
                best = saved
                small[feature] = tops[feature, b]


def choose_levels(
    rows: Rows, frequent_id: np.ndarray, scales: np.ndarray, n_frequent: int
) -> Levels:
    """Choose the levels of the frequent features."""
    counts = np.zeros((n_frequent, _BUCKETS), dtype=np.int64)
    tops = np.zeros((n_frequent, _BUCKETS), dtype=np.float32)
    _count_ratios(table(rows), frequent_id, scales, counts, tops)
    small = np.zeros(n_frequent, dtype=np.float32)
    large = np.zeros(n_frequent, dtype=np.float32)
    last_bucket = np.zeros(n_frequent, dtype=np.int32)
    _choose(counts, tops, small, large, last_bucket)
    beyond = np.arange(_BUCKETS) > last_bucket[:, None]
    return Levels(small, large, last_bucket, np.where(beyond, counts, 0).sum(axis=1))
