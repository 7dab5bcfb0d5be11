"""Upper bounds on the similarity of rows, eight rows at a time.

A row's dot product with the query is the sum over its postings, which is exact, and over the
frequent features, at most scale * W: W sums the levels (see `index.build`) of the shared features
times the query's values, bit-sliced and rounded up. The overlap c is exact. So
Sim <= (listed + scale * W) * (c / (m + n - c))**b for any b <= beta.

Margin: these float32 expressions have fewer than 16 roundings of 2**-24 each, so the error stays
below 2**-19 of the larger term; the threshold is lowered by 2**-16 before any comparison. Where
negative values cancel, the larger term may be as large as 1 and the sum small: 2**-19 is added.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from swnn_kernels._numba import half_to_float, inline
from swnn_kernels._numba.intrinsics import (
    at_least,
    divide,
    larger,
    load_bytes,
    load_counts,
    load_dots,
    load_overlaps,
    load_short_floats,
    splat,
    store_floats,
)
from swnn_kernels.neighbours.records import OVERLAP_MASK, PACK_BITS, SUMS, Query, RowSlots, Sweep
from swnn_kernels.records import COS_SCALE, Bool, Float, Int

Lanes: TypeAlias = Any
"""One float32 for each of eight rows."""
MARGIN = 1.0 - 2.0**-16

_CANCELLED = np.float32(2.0**-19)
_DOT_STEP = np.float32(2.0**-30)  # accumulators' upper halves count dots in steps of 2**16


@inline
def _terms(
    query: Query, slots: RowSlots, weight_step: Float, wide: Bool
) -> tuple[Lanes, Lanes, Lanes]:
    """Upper bound of the dot, overlap and union of eight rows."""
    index, sums, accumulators = query.index, query.prune.row_sums, query.buffers.accumulators
    at = slots.in_sums
    overlap = load_bytes(sums, at)
    if wide:
        overlap = overlap + load_bytes(sums, SUMS + at) * splat(np.float32(256.0))
    weight = load_bytes(sums, 2 * SUMS + at)
    weight = weight + load_bytes(sums, 3 * SUMS + at) * splat(np.float32(256.0))
    dot = load_dots(accumulators, slots.in_accumulators) * splat(_DOT_STEP) + splat(_CANCELLED)
    dot = dot + weight * splat(weight_step) * load_short_floats(index.row_scales, slots.row)
    overlap = overlap + load_overlaps(accumulators, slots.in_accumulators)
    union = splat(np.float32(query.size)) + load_counts(index.row_sizes, slots.row) - overlap
    return dot, overlap, union


@inline
def lanes_above_threshold(
    query: Query, sweep: Sweep, slots: RowSlots, wide: Bool, power: Int
) -> Int:
    """Which of eight rows may reach the threshold; needs no quotient."""
    dot, overlap, union = _terms(query, slots, sweep.weight_step, wide)
    goal = splat(sweep.threshold)
    if power >= 1:
        goal = goal * union
        dot = dot * overlap
    if power >= 2:
        goal = goal * union
        dot = dot * overlap
    return at_least(dot, goal)


@inline
def store_bounds(query: Query, sweep: Sweep, slots: RowSlots, wide: Bool, power: Int) -> None:
    """Store the upper bounds of eight rows."""
    upper, overlap, union = _terms(query, slots, sweep.weight_step, wide)
    if power >= 1:
        ratio = divide(overlap, larger(union, splat(np.float32(1.0))))
        upper = upper * ratio
        if power >= 2:
            upper = upper * ratio
    store_floats(query.prune.upper_bounds, slots.in_sums, upper)


@inline
def bound_of_row(query: Query, sweep: Sweep, slots: RowSlots) -> tuple[Float, Int, Int]:
    """Upper bound of one row in float64, with the true beta, its overlap and sum of weights.

    The bound is 0 if the row shares nothing with the query.
    """
    index, sums, beta = query.index, query.prune.row_sums, query.beta
    at, row, acc = slots.in_sums, slots.row, query.buffers.accumulators[slots.in_accumulators]
    weight = np.int64(sums[2 * SUMS + at]) + 256 * np.int64(sums[3 * SUMS + at])
    upper = weight * np.float64(sweep.weight_step) * half_to_float(index.row_scales[row])
    upper += np.float64(acc >> PACK_BITS) * COS_SCALE
    if (weight == 0 and acc == 0) or upper <= 0.0:
        return 0.0, np.int64(0), weight
    if beta == 0.0:  # overlaps were not counted, and nothing depends on them
        return upper, np.int64(1), weight
    overlap = np.int64(sums[at]) + (acc & OVERLAP_MASK)
    if sweep.overlap_planes > 8:
        overlap += 256 * np.int64(sums[SUMS + at])
    ratio = np.float64(overlap) / np.float64(max(1, query.size + index.row_sizes[row] - overlap))
    if beta == 1.0:
        upper *= ratio
    else:
        upper *= ratio**beta
    return upper, overlap, weight
