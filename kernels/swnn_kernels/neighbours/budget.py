"""The budgeted search: a limited number of rescorings, and a count of the rows left unresolved.

Rows are ranked by their exact dot over the postings lists plus what the query's few heaviest
frequent features may add; the best are rescored. No other row can have more than that score plus
what the features left out may add, so it is known how many rows might still belong to the answer.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import half_to_float, inline
from swnn_kernels._numba.intrinsics import (
    at_least,
    count_ones,
    load_floats,
    load_short_floats,
    splat,
)
from swnn_kernels.index.arrays import STEP_ROWS
from swnn_kernels.neighbours.bitslice import counts_at, plan_groups, to_bytes, weighted_sum
from swnn_kernels.neighbours.bounds import store_scores
from swnn_kernels.neighbours.dense import maxima_of_eights
from swnn_kernels.neighbours.plan import as_weight, clear_query, plan_query
from swnn_kernels.neighbours.records import CANDIDATES, LANES, Candidate, Plan, Query, RowSlots
from swnn_kernels.neighbours.rescoring import (
    add_candidate,
    lowest_in,
    nth_largest,
    order_by_bounds,
    rescore_ordered,
    threshold_of,
)
from swnn_kernels.neighbours.sparse import touch_rows
from swnn_kernels.records import FRACTION_BITS, Float, Int

_FEATURES = 16  # frequent features that rank the rows
_BITS = 7  # their weights' sum fits a byte
_SHARE = 16  # of the rows: a larger budget saves nothing, and groups would be too few to choose by
_ROOM = 1.0 + 2.0**-18  # for the rounding of float32


@inline
def _choose_heaviest(query: Query, n_frequent: Int) -> Int:
    """Put the heaviest features' bitmaps and products where sums are planned; return how many."""
    index, prune = query.index, query.prune
    products = prune.weight_lines  # not in use yet
    for j in range(n_frequent):
        frequent = prune.frequent_ids[j]
        magnitude = np.float64(abs(prune.query_quantised[frequent]))
        products[j] = np.int64(np.ceil(magnitude * np.float64(index.level_large[frequent])))
    chosen = min(_FEATURES, n_frequent)
    for i in range(chosen):
        best = 0
        for j in range(n_frequent):
            if products[j] > products[best]:
                best = j
        bitmap = index.bitmap_indptr[prune.frequent_ids[best]]
        prune.bitmap_offsets[i] = bitmap * index.bitmap_words
        prune.bitmap_weights[2 * i] = products[best]
        prune.bitmap_weights[2 * i + 1] = 0
        products[best] = -1
    return chosen


@inline
def _plan_scores(query: Query, n_frequent: Int) -> tuple[Float, Float]:
    """Plan the sums of the heaviest features; return a step of weight, and the rest's bound."""
    weights = query.prune.bitmap_weights
    chosen = _choose_heaviest(query, n_frequent)
    total = np.int64(1)
    for i in range(chosen):
        total += weights[2 * i]
    step = total / 2.0**_BITS
    for i in range(chosen):
        weights[2 * i] = as_weight(np.float64(weights[2 * i]), step, 2)
    plan_groups(query, chosen)
    rest = max(0.0, query.prune.max_frequent_dot[0] - total + chosen + 1)
    quantum = 2.0**-FRACTION_BITS * _ROOM
    return np.float32(step * quantum), np.float32(rest * quantum)


@inline
def _score_rows(query: Query, weight_step: Float) -> None:
    """Store a bound of every row's dot over lists and heaviest features as its score."""
    prune, scores, removed = query.prune, query.prune.scores, query.task.removed
    for step in range(scores.size // STEP_ROWS):
        line = counts_at(query, step)
        weighted_sum(prune, prune.weight_lines, prune.weight_indptr, line, 8)
        to_bytes(prune.planes, 0, prune.row_sums, 0)
        for at in range(0, STEP_ROWS, LANES):
            row = step * STEP_ROWS + at
            store_scores(query, RowSlots(row, at, row), weight_step)
    for row in range(query.index.forward_indptr.size - 1, scores.size):
        scores[row] = -np.inf
    for row in range(removed.size):
        if removed[row]:
            scores[row] = -np.inf


@inline
def _best_rows(query: Query, budget: Int) -> Int:
    """Make at least the rows of the largest scores candidates; return their number."""
    prune, scores = query.prune, query.prune.scores
    groups = maxima_of_eights(scores, prune.maxima, scores.size)
    cut = lowest_in(nth_largest(prune.maxima, groups, budget, prune.histogram))
    n_candidates = np.int64(0)
    for row in range(0, scores.size, LANES):
        mask = at_least(load_floats(scores, row), splat(max(cut, np.float32(1e-6))))
        for lane in range(LANES if mask and n_candidates <= CANDIDATES - LANES else 0):
            if (mask >> lane) & 1:
                acc = query.buffers.accumulators[row + lane]
                candidate = Candidate(
                    row + lane, np.int64(-1), acc, np.int64(-1), scores[row + lane]
                )
                n_candidates = add_candidate(prune, n_candidates, candidate)
    return n_candidates


@inline
def _count_open(query: Query, rest: Float, threshold: Float) -> Int:
    """Count the rows whose score and rest reach the threshold."""
    scores = query.prune.scores
    count = np.int64(0)
    for row in range(0, scores.size, LANES):
        upper = load_floats(scores, row)
        upper = upper + load_short_floats(query.index.row_scales, row) * splat(rest)
        count += count_ones(np.int64(at_least(upper, splat(threshold))))
    return count


@inline
def _count_unresolved(query: Query, rescored: Int, rest: Float, found: Int) -> Int:
    """Count the rows that were not rescored and may belong to the answer."""
    prune, threshold = query.prune, threshold_of(query, found)
    count = _count_open(query, rest, threshold)
    for i in range(rescored):
        row = prune.candidate_rows[prune.order[i]]
        scale = half_to_float(query.index.row_scales[row])
        count -= prune.scores[row] + scale * rest >= threshold
    return max(count, np.int64(0))


@inline
def _search(query: Query, plan: Plan, budget: Int) -> tuple[Int, Int]:
    """Fill the heap; return its size and the number of rows that might still belong to it."""
    prune = query.prune
    touched = touch_rows(query, plan.n_listed)
    weight_step, rest = _plan_scores(query, plan.n_frequent)
    _score_rows(query, weight_step)
    n_candidates = _best_rows(query, budget)
    order_by_bounds(prune.candidate_bounds, n_candidates, prune.histogram, prune.order)
    rescored = min(n_candidates, budget)
    for i in range(n_candidates):
        prune.candidate_bounds[i] = np.float32(np.inf)  # scores do not bound similarities
    found = rescore_ordered(query, rescored, np.int64(0))
    unresolved = _count_unresolved(query, rescored, rest, found)
    for i in range(touched):
        query.buffers.accumulators[prune.touched[i]] = 0
    return found, unresolved


@inline
def search_within_budget(query: Query) -> Int:
    """Fill the heap with rows of a query, and count those left unresolved; return their number.

    It is -1 where an exact path should answer: it is as fast where no feature is frequent or the
    budget is large.
    """
    budget, n_rows = query.task.budget, query.index.forward_indptr.size - 1
    if query.n_neighbors == 0 or _SHARE * budget > n_rows or 2 * budget > CANDIDATES:
        return np.int64(-1)
    plan = plan_query(query)
    found, unresolved = np.int64(-1), np.int64(0)
    if plan.n_frequent > 0:
        found, unresolved = _search(query, plan, budget)
    query.prune.n_unresolved[0] = unresolved
    clear_query(query.prune, plan.n_frequent)
    return found
