"""What the pruned kernel derives from a query before it looks at rows."""

from __future__ import annotations

import numpy as np

from swnn_kernels.cache import inline, routine
from swnn_kernels.fixed_point import FRACTION_BITS
from swnn_kernels.grouping import SIGNIFICANT, plan_groups
from swnn_kernels.reference import PACK
from swnn_kernels.vectors import leading_zeros, prefetch

# How weights are rounded: significant bits, bits of the largest sum, and the part of a feature's
# mean share in reach that a second bitmap must save to be read.
_FINE = 3, 12, 0.1
# For few neighbours with Jaccard's coefficient, whose overlap bounds well by itself, coarser
# weights are faster in all: more rows are completed, less is added up.
_COARSE = 2, 11, 0.25
_FEW_NEIGHBOURS = 40
# Long rows take so long to complete that bounds may cost more.
_FINEST = SIGNIFICANT, 14, 0.1
_LONG = 256  # mean number of values in the forward rows
_AHEAD = 16  # features between the request for a feature's place and its use
LONGEST_QUERY = 20_000
"""Up to so many features, sums of weights are sure to fit 16 planes."""


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
    reach, largest = 0.0, 0.0
    for q in range(size):
        ahead = work.indices[min(q + _AHEAD, size - 1)]
        prefetch(split.local, ahead)
        prefetch(split.starts, ahead)
        feature = work.indices[q]
        unit = np.int64(work.units[q])
        number = np.int64(split.local[feature])
        first, last = split.starts[feature], split.starts[feature + 1]
        if first < last:  # a rare feature, or the large values of a frequent one
            scratch.rare[n_rare] = first
            scratch.rare_ends[n_rare] = last
            scratch.rare_weights[n_rare] = unit * PACK
            postings += last - first
            prefetch(split.rows, first)
            prefetch(split.units, first)
            n_rare += 1
        if number >= 0:
            scratch.numbers[n_frequent] = number
            product = abs(unit) * np.float64(split.large[number])
            reach += product
            largest = max(largest, product)
            scratch.table[number] = unit
            scratch.member[number] = 1
            mass += unit * unit
            positive += unit if unit > 0 else np.int64(0)
            n_frequent += 1
    scratch.positive[0] = positive
    scratch.reach[0], scratch.reach[1] = reach, largest
    scratch.tally[0] += postings
    return n_rare, n_frequent, postings, mass


@inline
def forget_query(scratch, n_frequent):  # type: ignore[no-untyped-def]
    """Clear the table of units again."""
    for j in range(n_frequent):
        scratch.table[scratch.numbers[j]] = 0
        scratch.member[scratch.numbers[j]] = 0
        scratch.shares[2 * scratch.numbers[j]] = 0
        scratch.shares[2 * scratch.numbers[j] + 1] = 0


@inline
def _round_up(weight, significant):  # type: ignore[no-untyped-def]
    """Round a positive integer up to few significant bits."""
    shift = max(0, 64 - leading_zeros(weight) - significant)
    return ((weight + (1 << shift) - 1) >> shift) << shift


@inline
def as_weight(product, step, significant):  # type: ignore[no-untyped-def]
    """Turn a product into a number of steps, rounded up to few significant bits."""
    return _round_up(np.int64(np.ceil(product / step * (1.0 + 1e-9))), significant)


@inline
def _precision(split, n_neighbors, beta):  # type: ignore[no-untyped-def]
    """Choose how weights are rounded."""
    if split.pairs.size > _LONG * (split.ends.size - 1):
        return _FINEST
    if beta >= 1.0 and n_neighbors <= _FEW_NEIGHBOURS:
        return _COARSE
    return _FINE


@routine
def plan_sums(split, scratch, n_frequent, n_neighbors, beta):  # type: ignore[no-untyped-def]
    """Lay out the sums of overlap and weight; planes of both and the size of a step of weight.

    The products of query values and levels become integers, rounded up, so that every sum is an
    upper bound. A second bitmap is read only where it lowers the bound enough.
    """
    significant, bits, worth = _precision(split, n_neighbors, beta)
    reach, largest = max(scratch.reach[0], 1.0), max(scratch.reach[1], 1e-3)
    step = reach / 2.0**bits
    # One weight is made exact, the largest: where all are equal, as with binary rows, all are.
    step = largest / as_weight(largest, step, significant) * (1.0 + 4e-9)
    worth *= reach / max(1, n_frequent)
    total = np.int64(0)
    for j in range(n_frequent):
        number = scratch.numbers[j]
        value = np.float64(abs(scratch.table[number]))
        small, large = (
            value * np.float64(split.small[number]),
            value * np.float64(split.large[number]),
        )
        if large - small <= worth:
            small = large
        scratch.offsets[j] = split.firsts[number] * split.words
        scratch.weights[2 * j] = as_weight(small, step, significant)
        scratch.weights[2 * j + 1] = as_weight(large - small, step, significant)
        both = scratch.weights[2 * j] + scratch.weights[2 * j + 1]
        scratch.shares[2 * number] = scratch.weights[2 * j]
        scratch.shares[2 * number + 1] = both
        total += both
    plan_groups(split, scratch, n_frequent)
    return 64 - leading_zeros(n_frequent), 64 - leading_zeros(total), step * 2.0**-FRACTION_BITS
