"""The sparse path: only rows that share a feature with a postings list are looked at.

All other rows share frequent features only. If the norm of the query's frequent part cannot reach
the threshold, the answer is complete.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import half_to_float, inline, routine
from swnn_kernels.fixed_point import similarity
from swnn_kernels.heap import push
from swnn_kernels.neighbours.bounds import MARGIN
from swnn_kernels.neighbours.records import (
    CANDIDATES,
    OVERLAP_MASK,
    PACK_BITS,
    Candidate,
    Plan,
    Query,
)
from swnn_kernels.neighbours.rescoring import add_candidate, rescore_all, threshold_of
from swnn_kernels.records import COS_SCALE, FRACTION_BITS, Bool, Float, Int


@inline
def touch_rows(query: Query, n_listed: Int) -> Int:
    """Add the postings lists to the accumulators; return the number of rows touched."""
    index, prune, accumulators = query.index, query.prune, query.buffers.accumulators
    count = np.int64(0)
    for j in range(n_listed):
        weight = prune.list_weight[j]
        for p in range(prune.list_cursor[j], prune.list_end[j]):
            row = np.uint64(index.list_rows[np.uint64(p)])
            acc = accumulators[row]
            prune.touched[count] = row  # without a branch, which half of the rows would mispredict
            count += np.int64(acc == 0)
            accumulators[row] = acc + weight * np.int64(index.list_quantised[np.uint64(p)]) + 1
    return count


@inline
def _bound_of_touched(query: Query, plan: Plan, row: Int, acc: Int, norm: Float) -> Float:
    """Upper bound of a row from its listed part: the frequent part may match in full."""
    index, beta = query.index, query.beta
    max_dot = query.prune.max_frequent_dot[0] * 2.0**-FRACTION_BITS * (1.0 + 2.0**-20)
    upper = np.float64(acc >> PACK_BITS) * COS_SCALE
    upper += min(norm, max_dot * np.float64(half_to_float(index.row_scales[row])))
    row_size = np.int64(index.row_sizes[row])
    overlap = min((acc & OVERLAP_MASK) + plan.n_frequent, row_size)
    if beta > 0.0:
        ratio = np.float64(overlap) / np.float64(query.size + row_size - overlap)
        if beta == 1.0:
            upper *= ratio
        else:
            upper *= ratio**beta
    return upper


@inline
def bound_of_untouched(query: Query, plan: Plan, norm: Float) -> Float:
    """Upper bound of all rows that share no listed feature: J is at most n_frequent / size."""
    jaccard = np.float64(plan.n_frequent) / np.float64(max(1, query.size))
    return norm * jaccard**query.beta


@inline
def remaining_norm(squared_norm: Int) -> Float:
    """Norm of the query's frequent part, times the largest norm that rounding may give a row."""
    return np.sqrt(squared_norm * COS_SCALE) * (1.0 + 2.0**-16)


@inline
def _is_below(query: Query, acc: Int, threshold: Float) -> Bool:
    """Whether a row without frequent features is below the threshold whatever its size.

    Its union with the query has at least the query's size, so Sim <= cos * (overlap / size)**b for
    any b <= beta. This needs neither a quotient nor the row's size.
    """
    upper, goal = np.float64(acc >> PACK_BITS) * COS_SCALE, np.float64(threshold)
    if query.beta >= 1.0:
        upper *= np.float64(acc & OVERLAP_MASK)
        goal *= np.float64(query.size)
    return upper < goal


@inline
def _push_listed(query: Query, found: Int, row: Int, acc: Int) -> Int:
    """Offer a row whose similarity is known in full from the postings lists."""
    dot = acc >> PACK_BITS
    if dot > 0 and not _is_below(query, acc, threshold_of(query, found)):
        row_size = query.index.row_sizes[row]
        sim = similarity(dot, acc & OVERLAP_MASK, query.size, row_size, query.beta)
        if sim > 0.0:
            heap = query.buffers
            found = push(heap.sims, heap.rows, found, query.n_neighbors, sim, row)
    return found


@routine
def search_sparse(query: Query, plan: Plan) -> tuple[Int, Bool]:
    """Fill the heap; return its size and whether no other row can belong to the answer."""
    prune, accumulators, removed = query.prune, query.buffers.accumulators, query.task.removed
    count = touch_rows(query, plan.n_listed)
    norm = remaining_norm(plan.squared_norm)
    found, n_candidates = np.int64(0), np.int64(0)
    for i in range(count):
        row = np.int64(prune.touched[i])
        acc = accumulators[row]
        accumulators[row] = 0
        if removed.size > 0 and removed[row]:
            continue
        if plan.n_frequent == 0:
            found = _push_listed(query, found, row, acc)
            continue
        upper = _bound_of_touched(query, plan, row, acc, norm)
        if upper < threshold_of(query, found):
            continue
        bound = np.float32(upper * (1.0 + 2.0**-16))
        candidate = Candidate(row, np.int64(-1), acc, np.int64(-1), bound)
        n_candidates = add_candidate(prune, n_candidates, candidate)
        if n_candidates == CANDIDATES:
            found = rescore_all(query, n_candidates, found)
            n_candidates = np.int64(0)
    if plan.n_frequent == 0:
        return found, True
    found = rescore_all(query, n_candidates, found)
    if found < query.n_neighbors:
        return found, False
    return found, bound_of_untouched(query, plan, norm) < query.buffers.sims[0] * MARGIN
