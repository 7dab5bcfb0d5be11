"""What the pruned search derives from a query before it looks at rows."""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import inline, leading_zeros, routine
from swnn_kernels._numba.intrinsics import prefetch
from swnn_kernels.neighbours.bitslice import plan_groups
from swnn_kernels.neighbours.records import PACK, SIGNIFICANT, Plan, PruneBuffers, Query
from swnn_kernels.records import FRACTION_BITS, Float, Int

# How weights are rounded: significant bits, bits of the largest sum, and the part of a feature's
# mean share of max_frequent_dot that a second bitmap must save to be read.
_FINE = 3, 12, 0.1
# For few neighbours with Jaccard's coefficient, whose overlap bounds well by itself, coarser
# weights are faster in all: more rows are rescored, less is added up.
_COARSE = 2, 11, 0.25
_FEW_NEIGHBOURS = 40
# Rescoring long rows takes so long that bounds may cost more.
_FINEST = SIGNIFICANT, 14, 0.1
_LONG = 256  # mean number of entries in the forward rows
_AHEAD = 16  # features between prefetching a feature's pointers and their use


@routine
def plan_query(query: Query) -> Plan:
    """Sort the query's features into those with postings lists and the frequent ones."""
    index, buffers, prune = query.index, query.buffers, query.prune
    n_listed = np.int64(0)
    n_frequent = np.int64(0)
    postings = np.int64(0)
    squared_norm = np.int64(0)
    positive = np.int64(0)
    max_dot, largest = 0.0, 0.0
    for q in range(query.size):
        ahead = buffers.indices[min(q + _AHEAD, query.size - 1)]
        prefetch(index.frequent_id, ahead)
        prefetch(index.list_indptr, ahead)
        feature = buffers.indices[q]
        quantised = np.int64(buffers.quantised[q])
        frequent = np.int64(index.frequent_id[feature])
        first, last = index.list_indptr[feature], index.list_indptr[feature + 1]
        if first < last:  # a rare feature, or the largest values of a frequent one
            prune.list_cursor[n_listed] = first
            prune.list_end[n_listed] = last
            prune.list_weight[n_listed] = quantised * PACK
            postings += last - first
            prefetch(index.list_rows, first)
            prefetch(index.list_quantised, first)
            n_listed += 1
        if frequent >= 0:
            prune.frequent_ids[n_frequent] = frequent
            product = abs(quantised) * np.float64(index.level_large[frequent])
            max_dot += product
            largest = max(largest, product)
            prune.query_quantised[frequent] = quantised
            prune.is_in_query[frequent] = 1
            squared_norm += quantised * quantised
            positive += quantised if quantised > 0 else np.int64(0)
            n_frequent += 1
    prune.positive_sum[0] = positive
    prune.max_frequent_dot[0], prune.max_feature_dot[0] = max_dot, largest
    prune.postings_read[0] += postings
    return Plan(n_listed, n_frequent, postings, squared_norm)


@inline
def clear_query(prune: PruneBuffers, n_frequent: Int) -> None:
    """Set the tables by frequent id and by key to zeros again."""
    for j in range(n_frequent):
        frequent = prune.frequent_ids[j]
        prune.query_quantised[frequent] = 0
        prune.is_in_query[frequent] = 0
        prune.key_weights[2 * frequent] = 0
        prune.key_weights[2 * frequent + 1] = 0


@inline
def _round_up(weight: Int, significant: Int) -> Int:
    """Round a positive integer up to few significant bits."""
    shift = max(0, 64 - leading_zeros(weight) - significant)
    return ((weight + (1 << shift) - 1) >> shift) << shift


@inline
def as_weight(product: Float, step: Float, significant: Int) -> Int:
    """Turn a product into a number of steps, rounded up to few significant bits."""
    return _round_up(np.int64(np.ceil(product / step * (1.0 + 1e-9))), significant)


@inline
def _precision(query: Query) -> tuple[Int, Int, Float]:
    """Choose how weights are rounded."""
    if query.index.forward_hi.size > _LONG * (query.index.forward_indptr.size - 1):
        return _FINEST
    if query.beta >= 1.0 and query.n_neighbors <= _FEW_NEIGHBOURS:
        return _COARSE
    return _FINE


@inline
def _set_weights(query: Query, j: Int, step: Float, significant: Int, worth: Float) -> Int:
    """Set the weights of the j-th frequent feature's bitmaps; return their sum."""
    index, prune = query.index, query.prune
    frequent = prune.frequent_ids[j]
    value = np.float64(abs(prune.query_quantised[frequent]))
    small, large = (
        value * np.float64(index.level_small[frequent]),
        value * np.float64(index.level_large[frequent]),
    )
    if large - small <= worth:
        small = large
    prune.bitmap_offsets[j] = index.bitmap_indptr[frequent] * index.bitmap_words
    prune.bitmap_weights[2 * j] = as_weight(small, step, significant)
    prune.bitmap_weights[2 * j + 1] = as_weight(large - small, step, significant)
    both = prune.bitmap_weights[2 * j] + prune.bitmap_weights[2 * j + 1]
    prune.key_weights[2 * frequent] = prune.bitmap_weights[2 * j]
    prune.key_weights[2 * frequent + 1] = both
    return both


@routine
def plan_sums(query: Query, n_frequent: Int) -> tuple[Int, Int, Float]:
    """Lay out the sums of overlap and weight; return planes of both and the size of a step.

    The products of query values and levels become integers, rounded up, so that every sum is an
    upper bound. A second bitmap is read only where it lowers the bound enough.
    """
    prune = query.prune
    significant, bits, worth = _precision(query)
    max_dot, largest = max(prune.max_frequent_dot[0], 1.0), max(prune.max_feature_dot[0], 1e-3)
    step = max_dot / (1 << bits)
    # One weight is made exact, the largest: where all are equal, as with binary rows, all are.
    step = largest / as_weight(largest, step, significant) * (1.0 + 4e-9)
    worth *= max_dot / max(1, n_frequent)
    total = np.int64(0)
    for j in range(n_frequent):
        total += _set_weights(query, j, step, significant, worth)
    plan_groups(query, n_frequent)
    return 64 - leading_zeros(n_frequent), 64 - leading_zeros(total), step * 2.0**-FRACTION_BITS
