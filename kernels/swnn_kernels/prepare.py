"""What the pruned kernel derives from a query before it looks at rows."""

from __future__ import annotations

import numpy as np

from swnn_kernels.bitslice import PLANES
from swnn_kernels.cache import inline, routine
from swnn_kernels.fixed_point import COS_SCALE
from swnn_kernels.reference import PACK
from swnn_kernels.vectors import prefetch

SIGNIFICANT = 3
"""Most bits kept of a feature's mass, which is rounded up."""
_MASS_BITS = 13  # the whole mass of the query's frequent features is so many bits long
# With Jaccard's coefficient the overlap bounds well by itself: fewer bits are faster in all.
_SIGNIFICANT_JACCARD = 2
_MASS_BITS_JACCARD = 11
LONGEST_QUERY = 30_000
"""Up to so many features, masses are sure to fit 16 planes."""


@routine
def split_query(split, work, scratch, size):  # type: ignore[no-untyped-def]
    """Sort the query's features into rare and frequent.

    Returns the plan of a query: numbers of rare and of frequent features, postings of the rare
    ones, mass of the frequent ones.
    """
    n_rare = np.int64(0)
    n_frequent = np.int64(0)
    postings = np.int64(0)
    mass = np.int64(0)
    positive = np.int64(0)
    for q in range(size):
        feature = work.indices[q]
        unit = np.int64(work.units[q])
        number = np.int64(split.local[feature])
        if number < 0:
            first, last = split.starts[feature], split.starts[feature + 1]
            scratch.rare[n_rare] = first
            scratch.rare_ends[n_rare] = last
            scratch.rare_weights[n_rare] = unit * PACK
            postings += last - first
            prefetch(split.rows, first)
            prefetch(split.units, first)
            n_rare += last > first
        else:
            scratch.numbers[n_frequent] = number
            scratch.weights[n_frequent] = unit * unit
            scratch.table[number] = unit
            scratch.member[number] = 1
            mass += unit * unit
            positive += unit if unit > 0 else np.int64(0)
            n_frequent += 1
    scratch.positive[0] = positive
    scratch.tally[0] += postings
    return n_rare, n_frequent, postings, mass


@inline
def forget_query(scratch, n_frequent):  # type: ignore[no-untyped-def]
    """Clear the table of units again."""
    for j in range(n_frequent):
        scratch.table[scratch.numbers[j]] = 0
        scratch.member[scratch.numbers[j]] = 0


@inline
def _round_up(weight, significant):  # type: ignore[no-untyped-def]
    """Round a positive integer up to few significant bits."""
    shift = 0
    while (weight >> shift) >= (1 << significant):
        shift += 1
    return ((weight + (1 << shift) - 1) >> shift) << shift


@inline
def _width(total):  # type: ignore[no-untyped-def]
    """Bits of an integer."""
    bits = 0
    while total >> bits:
        bits += 1
    return bits


@inline
def _place_masses(scratch, n_frequent):  # type: ignore[no-untyped-def]
    """Sort the bitmaps by the bits of their masses."""
    for p in range(PLANES):
        scratch.cursors[p] = scratch.mass_starts[p]
    for j in range(n_frequent):
        for p in range(PLANES):
            if (scratch.weights[j] >> p) & 1:
                scratch.mass_offsets[scratch.cursors[p]] = scratch.count_offsets[j]
                scratch.cursors[p] += 1


@routine
def plan_sums(split, scratch, plan, beta):  # type: ignore[no-untyped-def]
    """Lay out the sums of overlap and mass; planes of both and the size of a step of mass.

    The masses q_j**2 become integers, rounded up, so that every sum is an upper bound.
    """
    _, n_frequent, _, mass = plan
    significant = _SIGNIFICANT_JACCARD if beta >= 1.0 else SIGNIFICANT
    step = max(mass, 1) / 2.0 ** (_MASS_BITS_JACCARD if beta >= 1.0 else _MASS_BITS)
    total = np.int64(0)
    for j in range(n_frequent):
        scratch.count_offsets[j] = scratch.numbers[j] * split.words
        weight = _round_up(np.int64(np.ceil(scratch.weights[j] / step * (1.0 + 1e-9))), significant)
        scratch.weights[j] = weight
        total += weight
    starts = scratch.mass_starts
    starts[:] = 0
    for j in range(n_frequent):
        for p in range(PLANES):
            starts[p + 1] += (scratch.weights[j] >> p) & 1
    for p in range(PLANES):
        starts[p + 1] += starts[p]
        scratch.count_starts[p + 1] = n_frequent
    _place_masses(scratch, n_frequent)
    return _width(n_frequent), _width(total), step * COS_SCALE
