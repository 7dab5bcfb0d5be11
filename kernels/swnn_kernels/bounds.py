"""Upper bounds on the similarity of rows, eight rows at a time.

A row's dot product with the query is the sum over the postings of inverted lists, which is exact,
and over the frequent features, at most scale * W: W sums the levels (see levels.py) of the shared
features times the query's values, bit-sliced and rounded up. The overlap c is exact. So
Sim <= (listed + scale * W) * (c / (m + n - c))**b for any b <= beta.

Margin: these float32 expressions have fewer than 16 roundings of 2**-24 each, so the error stays
below 2**-19 of the larger term; theta is lowered by 2**-16 before any comparison. Where negative
values cancel, the larger term may be as large as 1 and the sum small: 2**-19 is added to it.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels.cache import inline
from swnn_kernels.fixed_point import COS_SCALE
from swnn_kernels.vectors import (
    at_least,
    divide,
    half_to_float,
    larger,
    load_bytes,
    load_counts,
    load_dots,
    load_overlaps,
    load_short_floats,
    splat,
    store_floats,
)

CHUNK = 16384
"""Rows whose accumulators stay in the cache at a time."""
MARGIN = 1.0 - 2.0**-16
LANES = 8

_CANCELLED = np.float32(2.0**-19)
_DOT_STEP = np.float32(2.0**-30)  # accumulators' upper halves count dots in steps of 2**16


@inline
def _terms(split, work, sums, at, row, local, size, step, wide):  # type: ignore[no-untyped-def]
    """Bound of the dot, overlap and union of eight rows."""
    overlap = load_bytes(sums, at)
    if wide:
        overlap = overlap + load_bytes(sums, CHUNK + at) * splat(np.float32(256.0))
    weight = load_bytes(sums, 2 * CHUNK + at)
    weight = weight + load_bytes(sums, 3 * CHUNK + at) * splat(np.float32(256.0))
    dot = load_dots(work.acc, local) * splat(_DOT_STEP) + splat(_CANCELLED)
    dot = dot + weight * splat(step) * load_short_floats(split.scales, row)
    overlap = overlap + load_overlaps(work.acc, local)
    union = splat(np.float32(size)) + load_counts(split.row_sizes, row) - overlap
    return dot, overlap, union


@inline
def passing(split, work, sums, at, row, local, size, step, wide, power, theta):  # type: ignore[no-untyped-def]
    """Which of eight rows may reach theta; needs no quotient."""
    dot, overlap, union = _terms(split, work, sums, at, row, local, size, step, wide)
    goal = splat(theta)
    if power >= 1:
        goal = goal * union
        dot = dot * overlap
    if power >= 2:
        goal = goal * union
        dot = dot * overlap
    return at_least(dot, goal)


@inline
def store_uppers(split, work, sums, at, row, local, size, step, wide, power, uppers):  # type: ignore[no-untyped-def]
    """Write the bounds of eight rows to ``uppers[at:]``."""
    upper, overlap, union = _terms(split, work, sums, at, row, local, size, step, wide)
    if power >= 1:
        ratio = divide(overlap, larger(union, splat(np.float32(1.0))))
        upper = upper * ratio
        if power >= 2:
            upper = upper * ratio
    store_floats(uppers, at, upper)


@inline
def store_scores(split, work, sums, at, row, step, scores):  # type: ignore[no-untyped-def]
    """Write the bounds of eight rows' dots, with weights of one byte, to ``scores[row:]``."""
    weight = load_bytes(sums, at) * splat(step) * load_short_floats(split.scales, row)
    store_floats(scores, row, load_dots(work.acc, row) * splat(_DOT_STEP) + weight)


@inline
def upper_of_row(split, sums, at, row, acc, size, step, beta):  # type: ignore[no-untyped-def]
    """Bound of one row in float64, with the true beta, its overlap and sum of weights.

    The bound is 0 if the row shares nothing with the query.
    """
    weight = np.int64(sums[2 * CHUNK + at]) + 256 * np.int64(sums[3 * CHUNK + at])
    upper = weight * np.float64(step) * half_to_float(split.scales[row])
    upper += np.float64(acc >> 16) * COS_SCALE
    if (weight == 0 and acc == 0) or upper <= 0.0:
        return 0.0, np.int64(0), weight
    if beta == 0.0:  # overlaps were not counted, and nothing depends on them
        return upper, np.int64(1), weight
    overlap = np.int64(sums[at]) + 256 * np.int64(sums[CHUNK + at]) + (acc & 0xFFFF)
    ratio = np.float64(overlap) / np.float64(max(1, size + split.row_sizes[row] - overlap))
    if beta == 1.0:
        upper *= ratio
    else:
        upper *= ratio**beta
    return upper, overlap, weight
