"""The budgeted mode: at most so many rows are completed, and it is counted what might be missing.

Rows are ranked by their exact dot over the inverted lists plus what the query's few heaviest
frequent features may add; the best are completed. No other row can have more than that score plus
what the features left out may add, so it is known how many rows might still belong to the answer.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels.bitslice import STEP_ROWS, to_bytes, weighted_sum
from swnn_kernels.bounds import LANES, store_scores
from swnn_kernels.cache import inline, routine
from swnn_kernels.completion import (
    PENDING,
    add_pending,
    complete_listed,
    cut_value,
    nth_largest,
    order_by_bounds,
    threshold,
)
from swnn_kernels.dense import maxima_of_eights
from swnn_kernels.fixed_point import FRACTION_BITS
from swnn_kernels.grouping import counts_at, plan_groups
from swnn_kernels.prepare import as_weight
from swnn_kernels.sparse import touch
from swnn_kernels.vectors import (
    at_least,
    count_ones,
    half_to_float,
    load_floats,
    load_short_floats,
    splat,
)

_FEATURES = 16  # frequent features that rank the rows
_BITS = 7  # their weights' sum fits a byte
_SHARE = 16  # of the rows: a larger budget saves nothing, and groups would be too few to choose by
_ROOM = 1.0 + 2.0**-18  # for the rounding of float32


@inline
def _choose_heaviest(split, scratch, n_frequent):  # type: ignore[no-untyped-def]
    """Put the heaviest features' bitmaps and products where the sums are planned; how many."""
    products = scratch.weight_offsets  # not in use yet
    for j in range(n_frequent):
        number = scratch.numbers[j]
        value = np.float64(abs(scratch.table[number])) * np.float64(split.large[number])
        products[j] = np.int64(np.ceil(value))
    chosen = min(_FEATURES, n_frequent)
    for i in range(chosen):
        best = 0
        for j in range(n_frequent):
            if products[j] > products[best]:
                best = j
        scratch.offsets[i] = split.firsts[scratch.numbers[best]] * split.words
        scratch.weights[2 * i] = products[best]
        scratch.weights[2 * i + 1] = 0
        products[best] = -1
    return chosen


@inline
def _plan(split, scratch, n_frequent):  # type: ignore[no-untyped-def]
    """Plan the sums of the heaviest features; a step of weight, and what the rest may add."""
    chosen = _choose_heaviest(split, scratch, n_frequent)
    total = np.int64(1)
    for i in range(chosen):
        total += scratch.weights[2 * i]
    step = total / 2.0**_BITS
    for i in range(chosen):
        scratch.weights[2 * i] = as_weight(np.float64(scratch.weights[2 * i]), step, 2)
    plan_groups(split, scratch, chosen)
    rest = max(0.0, scratch.reach[0] - total + chosen + 1)
    unit = 2.0**-FRACTION_BITS * _ROOM
    return np.float32(step * unit), np.float32(rest * unit)


@inline
def _score_rows(split, work, scratch, step_size, dead):  # type: ignore[no-untyped-def]
    """Write a bound of every row's dot over lists and heaviest features to ``scores``."""
    for step in range(scratch.scores.size // STEP_ROWS):
        word = counts_at(split, scratch, step)
        weighted_sum(scratch, scratch.weight_offsets, scratch.weight_starts, word, 8)
        to_bytes(scratch.planes, 0, scratch.sums, 0)
        for at in range(0, STEP_ROWS, LANES):
            row = step * STEP_ROWS + at
            store_scores(split, work, scratch.sums, at, row, step_size, scratch.scores)
    for row in range(split.ends.size - 1, scratch.scores.size):
        scratch.scores[row] = -np.inf
    for row in range(dead.size):
        if dead[row]:
            scratch.scores[row] = -np.inf


@inline
def _best_rows(split, work, scratch, budget):  # type: ignore[no-untyped-def]
    """Make at least the rows of the largest scores pending; their number."""
    groups = maxima_of_eights(scratch.scores, scratch.maxima, scratch.scores.size)
    cut = cut_value(nth_largest(scratch.maxima, groups, budget, scratch.histogram))
    pending = np.int64(0)
    for row in range(0, scratch.scores.size, LANES):
        mask = at_least(load_floats(scratch.scores, row), splat(max(cut, np.float32(1e-6))))
        for lane in range(LANES if mask and pending <= PENDING - LANES else 0):
            if (mask >> lane) & 1:
                pending = add_pending(
                    scratch, pending, row + lane, np.int64(-1), work.acc[row + lane], np.int64(-1),
                    scratch.scores[row + lane],
                )  # fmt: skip
    return pending


@inline
def _count_open(split, scratch, rest, theta):  # type: ignore[no-untyped-def]
    """Count the rows whose score and rest reach theta."""
    count = np.int64(0)
    for row in range(0, scratch.scores.size, LANES):
        upper = load_floats(scratch.scores, row)
        upper = upper + load_short_floats(split.scales, row) * splat(rest)
        count += count_ones(np.int64(at_least(upper, splat(theta))))
    return count


@routine
def budget_search(  # type: ignore[no-untyped-def]
    split, work, scratch, plan, size, n_neighbors, beta, dead, budget
):
    """Fill the heap of ``work``; its size and the number of rows that might still belong to it.

    The size is -1 where an exact path is to answer: it is as fast where no feature is frequent or
    the budget is large.
    """
    n_rare, n_frequent = plan[0], plan[1]
    if n_frequent == 0 or _SHARE * budget > split.ends.size - 1 or 2 * budget > PENDING:
        return np.int64(-1), np.int64(0)
    touched = touch(split, work, scratch, n_rare)
    step_size, rest = _plan(split, scratch, n_frequent)
    _score_rows(split, work, scratch, step_size, dead)
    pending = _best_rows(split, work, scratch, budget)
    order_by_bounds(scratch.bounds, pending, scratch.histogram, scratch.order)
    listed = min(pending, budget)
    for i in range(pending):
        scratch.bounds[i] = np.float32(np.inf)  # scores are no bounds
    found = complete_listed(split, work, scratch, listed, np.int64(0), n_neighbors, size, beta)
    theta = threshold(work, found, n_neighbors)
    might = _count_open(split, scratch, rest, theta)
    for i in range(listed):
        row = scratch.rows[scratch.order[i]]
        scale = half_to_float(split.scales[row])
        might -= scratch.scores[row] + scale * rest >= theta
    for i in range(touched):
        work.acc[scratch.touched[i]] = 0
    return found, max(might, np.int64(0))
