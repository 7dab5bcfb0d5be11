"""The dense path, for queries that touch most rows: upper bounds of all rows, few rescorings."""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import inline, routine
from swnn_kernels._numba.intrinsics import (
    at_least,
    larger,
    load_floats,
    prefetch,
    splat,
    store_floats,
    trailing_zeros,
)
from swnn_kernels.index.arrays import STEP_ROWS
from swnn_kernels.neighbours.bitslice import counts_at, to_bytes, weighted_sum
from swnn_kernels.neighbours.bounds import bound_of_row, lanes_above_threshold, store_bounds
from swnn_kernels.neighbours.plan import plan_sums
from swnn_kernels.neighbours.records import (
    CANDIDATES,
    CHUNK,
    FIRST,
    LANES,
    SUMS,
    Candidate,
    Plan,
    Query,
    RowSlots,
    Sweep,
)
from swnn_kernels.neighbours.rescoring import (
    add_candidate,
    lowest_in,
    nth_largest,
    rescore_all,
    rescore_best,
    threshold_of,
)
from swnn_kernels.records import COS_SCALE, Bool, Float, Float32, Int

_ENOUGH = 8  # times S groups of 64 rows: then few of the best rows share one
_RAISE_AT = 6  # times S candidates: then it pays to raise the threshold before going on


@routine
def _scatter(query: Query, n_listed: Int, origin: Int, limit: Int) -> None:
    """Add the postings of rows below ``limit`` to the accumulators, which start at ``origin``."""
    prune, accumulators = query.prune, query.buffers.accumulators
    rows, quantised = query.index.list_rows, query.index.list_quantised
    for j in range(n_listed):
        p = prune.list_cursor[j]
        last = prune.list_end[j]
        weight = prune.list_weight[j]
        while p < last:
            row = np.int64(rows[np.uint64(p)])
            if row >= limit:
                break
            accumulators[np.uint64(row - origin)] += weight * np.int64(quantised[np.uint64(p)]) + 1
            p += 1
        prune.list_cursor[j] = p


@inline
def _sum_step(query: Query, sweep: Sweep, step: Int, at: Int) -> None:
    """Overlaps, where any planes are for them, and weights of a step's 512 rows, as bytes."""
    prune = query.prune
    planes, sums = prune.planes, prune.row_sums
    line = counts_at(query, step)
    if sweep.overlap_planes > 0:
        weighted_sum(prune, prune.overlap_lines, prune.overlap_indptr, line, sweep.overlap_planes)
        to_bytes(planes, 0, sums, at)
        if sweep.overlap_planes > 8:
            to_bytes(planes, 8, sums, SUMS + at)
    weighted_sum(prune, prune.weight_lines, prune.weight_indptr, line, sweep.weight_planes)
    to_bytes(planes, 0, sums, 2 * SUMS + at)
    to_bytes(planes, 8, sums, 3 * SUMS + at)


@inline
def _keep(query: Query, sweep: Sweep, slots: RowSlots, n_candidates: Int) -> Int:
    """Make a row a candidate if its own bound reaches the threshold; return their number."""
    row, removed = slots.row, query.task.removed
    if removed.size > 0 and removed[row]:
        return n_candidates
    prefetch(query.index.forward_indptr, row)
    acc = query.buffers.accumulators[slots.in_accumulators]
    upper, overlap, weight = bound_of_row(query, sweep, slots)
    if overlap == 0 or upper < sweep.threshold:
        return n_candidates
    bound = np.float32(upper * (1.0 + 2.0**-16))
    return add_candidate(query.prune, n_candidates, Candidate(row, overlap, acc, weight, bound))


@inline
def _keep_lanes(query: Query, sweep: Sweep, slots: RowSlots, mask: Int, n_candidates: Int) -> Int:
    """Make candidates of those of eight rows whose bit is set in a mask, if `_keep` does."""
    n_rows = query.index.forward_indptr.size - 1
    n_lanes = min(max(0, n_rows - slots.row), LANES)  # damaged bitmaps may let other rows pass
    rest = np.int64(mask) & ((1 << n_lanes) - 1)
    while rest:
        lane = trailing_zeros(rest)
        rest &= rest - 1
        row, in_sums, in_accumulators = slots
        one = RowSlots(row + lane, in_sums + lane, in_accumulators + lane)
        n_candidates = _keep(query, sweep, one, n_candidates)
    return n_candidates


@inline
def maxima_of_eights(bounds: Float32, maxima: Float32, size: Int) -> Int:
    """Store the largest bound of eight rows that share a lane in 64; return how many."""
    count = 0
    for start in range(0, size, LANES * LANES):
        best = load_floats(bounds, start)
        for j in range(1, LANES):
            best = larger(best, load_floats(bounds, start + j * LANES))
        store_floats(maxima, count, best)
        count += LANES
    return count


@inline
def _with_threshold(sweep: Sweep, threshold: Float) -> Sweep:
    overlap_planes, weight_planes, weight_step, origin, _, is_storing = sweep
    return Sweep(overlap_planes, weight_planes, weight_step, origin, threshold, is_storing)


@inline
def _keep_between(
    query: Query,
    sweep: Sweep,
    size: Int,
    lowest: Float,
    highest: Float,
    found: Int,
    n_candidates: Int,
) -> tuple[Int, Int]:
    """Make rows candidates whose stored bounds lie in a range; ``maxima`` are those of 64 rows."""
    for start in range(0, size, LANES * LANES):
        if not at_least(load_floats(query.prune.maxima, start // LANES), splat(lowest)):
            continue
        if n_candidates > CANDIDATES - LANES * LANES:
            found = rescore_all(query, n_candidates, found)
            n_candidates = np.int64(0)
        for row in range(start, start + LANES * LANES, LANES):
            bounds = load_floats(query.prune.upper_bounds, row)
            mask = at_least(bounds, splat(lowest)) & ~at_least(bounds, splat(highest))
            if mask:
                slots = RowSlots(row, row, row)
                n_candidates = _keep_lanes(query, sweep, slots, mask, n_candidates)
    return found, n_candidates


@inline
def _lowest_first(query: Query, size: Int) -> Float:
    """Find the bound from which rows are rescored first: at least S rows reach it.

    It is the S-th largest maximum of groups of eight rows, or of 64 where there are enough.
    """
    prune, n_first = query.prune, query.n_neighbors
    groups = maxima_of_eights(prune.upper_bounds, prune.maxima, size)
    maxima = prune.maxima
    if groups // LANES >= _ENOUGH * n_first:
        maxima = prune.maxima[groups:]
        groups = maxima_of_eights(prune.maxima, maxima, groups)
    return lowest_in(nth_largest(maxima, groups, n_first, prune.histogram))


@routine
def _first_threshold(query: Query, sweep: Sweep, limit: Int) -> tuple[Int, Int]:
    """Rescore the best rows of the stored bounds; return the heap's size, and candidates left."""
    prune, removed = query.prune, query.task.removed
    if removed.size > 0:
        for row in range(limit):
            if removed[row]:
                prune.upper_bounds[row] = 0.0
    size = (limit + STEP_ROWS - 1) // STEP_ROWS * STEP_ROWS
    lowest, highest = _lowest_first(query, size), np.float32(np.inf)
    found, n_candidates = np.int64(0), np.int64(0)
    for _ in range(2):
        raised = _with_threshold(sweep, threshold_of(query, found))
        found, n_candidates = _keep_between(
            query, raised, size, lowest, highest, found, n_candidates
        )
        if highest == np.inf:
            found = rescore_all(query, n_candidates, found)
            n_candidates = np.int64(0)
            highest = lowest
            lowest = min(lowest, threshold_of(query, found))
    return found, n_candidates


@inline
def _bound_rows(query: Query, sweep: Sweep, base: Int, wide: Bool, power: Int) -> None:
    """Bound a step's rows: store the bounds, or in masks which rows pass.

    These loops hold nothing but vector operations: the rows that pass are handled afterwards.
    """
    if sweep.is_storing:
        for row in range(base, base + STEP_ROWS, LANES):
            store_bounds(query, sweep, RowSlots(row, row, row - sweep.origin), wide, power)
    else:
        for at in range(0, STEP_ROWS, LANES):
            slots = RowSlots(base + at, at, base + at - sweep.origin)
            query.prune.masks[np.uint64(at >> 3)] = lanes_above_threshold(
                query, sweep, slots, wide, power
            )


@inline
def _step(query: Query, sweep: Sweep, step: Int, n_candidates: Int) -> Int:
    """Bound the rows of a step and store the bounds, or keep the rows that pass as candidates."""
    base = step * STEP_ROWS
    _sum_step(query, sweep, step, base if sweep.is_storing else 0)
    # Each call is compiled for its constants.
    if sweep.overlap_planes > 8:
        _bound_rows(query, sweep, base, True, min(2, int(query.beta)))
    elif query.beta < 1.0:
        _bound_rows(query, sweep, base, False, 0)
    elif query.beta < 2.0:
        _bound_rows(query, sweep, base, False, 1)
    else:
        _bound_rows(query, sweep, base, False, 2)
    if sweep.is_storing:
        return n_candidates
    for i in range(STEP_ROWS // LANES):
        mask = query.prune.masks[i]
        if mask:
            at = i * LANES
            slots = RowSlots(base + at, at, base + at - sweep.origin)
            n_candidates = _keep_lanes(query, sweep, slots, mask, n_candidates)
    return n_candidates


@inline
def _plan_sweep(query: Query, n_frequent: Int) -> tuple[Int, Int, Float]:
    """Plan the sums; return planes of overlaps and weights, and the step of weight."""
    overlap_planes, weight_planes, step = plan_sums(query, n_frequent)
    weight_planes = max(9, weight_planes)  # both bytes of a weight are read
    if query.beta == 0.0:
        overlap_planes = 0  # nothing depends on the overlaps
    query.prune.weight_step[0] = step * (1.0 / COS_SCALE)
    return overlap_planes, weight_planes, np.float32(step * (1.0 + 2.0**-20))


@routine
def search_dense(query: Query, plan: Plan, known_threshold: Float) -> Int:
    """Fill the heap with the best rows of a query; return their number.

    ``known_threshold`` is a similarity that S rows are known to reach, or 0. Without it the bounds
    of the first rows are stored, to find a threshold by rescoring the best of them.
    """
    n_rows = query.index.forward_indptr.size - 1
    overlap_planes, weight_planes, weight_step = _plan_sweep(query, plan.n_frequent)
    found, n_candidates = np.int64(0), np.int64(0)
    at_once = n_rows <= FIRST  # their accumulators fit the second-level cache
    stored: Int = min(n_rows, FIRST if at_once else CHUNK)
    if known_threshold > 0.0:
        stored = np.int64(0)
    if at_once:
        _scatter(query, plan.n_listed, 0, n_rows)
    for first in range(0, n_rows, CHUNK):
        limit = min(first + CHUNK, n_rows)
        is_storing = first < stored
        origin = 0 if at_once or is_storing else first
        if not at_once:
            _scatter(query, plan.n_listed, origin, limit)
        for step in range(first // STEP_ROWS, (limit + STEP_ROWS - 1) // STEP_ROWS):
            if n_candidates > CANDIDATES - STEP_ROWS:
                found = rescore_all(query, n_candidates, found)
                n_candidates = np.int64(0)
            threshold = max(known_threshold, threshold_of(query, found))
            sweep = Sweep(overlap_planes, weight_planes, weight_step, origin, threshold, is_storing)
            n_candidates = _step(query, sweep, step, n_candidates)
        if is_storing and limit < stored:
            continue
        if is_storing:
            found, n_candidates = _first_threshold(
                query,
                Sweep(overlap_planes, weight_planes, weight_step, origin, np.float32(0.0), True),
                limit,
            )
        query.buffers.accumulators[0 if is_storing else first - origin : limit - origin] = 0
        if n_candidates > _RAISE_AT * query.n_neighbors:
            found, n_candidates = rescore_best(query, n_candidates, found)
    return rescore_all(query, n_candidates, found)
