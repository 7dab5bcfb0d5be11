"""Upper bounds on the similarity of rows, eight rows at a time.

A row's dot product with the query is the sum over the rare features, which is exact, and over the
frequent ones, at most sqrt(W * X) by Cauchy and Schwarz: W is the query's mass on the shared
features (bit-sliced, rounded up), X the largest mass the row can have on so many features. The
overlap c is exact. So Sim <= (rare + sqrt(W * X)) * (c / (m + n - c))**b for any b <= beta.

Margin: these float32 expressions have fewer than 16 roundings of 2**-24 each, all sums are of like
sign or compared after scaling by theta, so the relative error stays below 2**-19; theta is
lowered by 2**-16 before any comparison.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels.cache import inline
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
    smaller,
    splat,
    square_root,
    store_floats,
)

CHUNK = 16384
"""Rows whose accumulators stay in the cache at a time."""
MARGIN = 1.0 - 2.0**-16
LANES = 8

_DOT_STEP = np.float32(2.0**-30)  # accumulators' upper halves count dots in steps of 2**16


@inline
def _terms(split, work, sums, at, row, local, size, step, wide):  # type: ignore[no-untyped-def]
    """Squared bound of the frequent dot, rare dot, overlap and union of eight rows."""
    overlap = load_bytes(sums, at)
    if wide:
        overlap = overlap + load_bytes(sums, CHUNK + at) * splat(np.float32(256.0))
    mass = load_bytes(sums, 2 * CHUNK + at)
    mass = mass + load_bytes(sums, 3 * CHUNK + at) * splat(np.float32(256.0))
    line = load_short_floats(split.line_a, row) + load_short_floats(split.line_b, row) * overlap
    other = load_short_floats(split.second_a, row)
    line = smaller(line, other + load_short_floats(split.second_b, row) * overlap)
    line = smaller(line, load_short_floats(split.line_cap, row))
    rare = load_dots(work.acc, local) * splat(_DOT_STEP)
    overlap = overlap + load_overlaps(work.acc, local)
    union = splat(np.float32(size)) + load_counts(split.row_sizes, row) - overlap
    return mass * splat(step) * line, rare, overlap, union


@inline
def passing(split, work, sums, at, row, local, size, step, wide, power, theta):  # type: ignore[no-untyped-def]
    """Which of eight rows may reach theta; needs neither root nor quotient."""
    squared, rare, overlap, union = _terms(split, work, sums, at, row, local, size, step, wide)
    goal = splat(theta)
    if power >= 1:
        goal = goal * union
        rare = rare * overlap
        squared = squared * overlap * overlap
    if power >= 2:
        goal = goal * union
        rare = rare * overlap
        squared = squared * overlap * overlap
    missing = larger(goal - rare, splat(np.float32(0.0)))
    return at_least(squared, missing * missing)


@inline
def store_uppers(split, work, sums, at, row, local, size, step, wide, power, uppers):  # type: ignore[no-untyped-def]
    """Write the bounds of eight rows to ``uppers[at:]``."""
    squared, rare, overlap, union = _terms(split, work, sums, at, row, local, size, step, wide)
    upper = square_root(squared) + rare
    ratio = divide(overlap, larger(union, splat(np.float32(1.0))))
    if power >= 1:
        upper = upper * ratio
    if power >= 2:
        upper = upper * ratio
    store_floats(uppers, at, upper)


@inline
def upper_of_row(split, sums, at, row, acc, size, step, beta):  # type: ignore[no-untyped-def]
    """Bound of one row in float64, with the true beta, and its overlap."""
    shared = np.int64(sums[at]) + 256 * np.int64(sums[CHUNK + at])
    mass = np.int64(sums[2 * CHUNK + at]) + 256 * np.int64(sums[3 * CHUNK + at])
    line = half_to_float(split.line_a[row]) + half_to_float(split.line_b[row]) * np.float64(shared)
    other = half_to_float(split.second_a[row])
    line = min(line, other + half_to_float(split.second_b[row]) * np.float64(shared))
    line = min(line, np.float64(half_to_float(split.line_cap[row])))
    overlap = shared + (acc & 0xFFFF)
    upper = np.sqrt(mass * step * line) + np.float64(acc >> 16) * 2.0**-46
    if beta > 0.0:
        ratio = np.float64(overlap) / np.float64(max(1, size + split.row_sizes[row] - overlap))
        if beta == 1.0:
            upper *= ratio
        else:
            upper *= ratio**beta
    return upper, overlap
