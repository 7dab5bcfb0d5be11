"""The pruned kernel for queries that touch most rows: bounds for all rows, few completions."""

from __future__ import annotations

import numpy as np

from swnn_kernels.bitslice import STEP_ROWS, to_bytes, weighted_sum
from swnn_kernels.bounds import CHUNK, LANES, passing, store_uppers, upper_of_row
from swnn_kernels.cache import inline, routine
from swnn_kernels.completion import (
    PENDING,
    add_pending,
    complete_all,
    complete_best,
    cut_value,
    nth_largest,
    threshold,
)
from swnn_kernels.fixed_point import COS_SCALE
from swnn_kernels.grouping import counts_at
from swnn_kernels.prepare import plan_sums
from swnn_kernels.vectors import (
    at_least,
    larger,
    load_floats,
    prefetch,
    splat,
    store_floats,
    trailing_zeros,
)

_AT_ONCE = 65536  # rows whose accumulators fit the second-level cache: no need to go by chunks
_RAISE_AT = 6  # times S pending rows: then it pays to raise theta before going on


@routine
def _scatter(split, scratch, n_rare, first, limit, acc):  # type: ignore[no-untyped-def]
    """Add the rare lists' postings of rows below ``limit`` to the accumulators."""
    rows, units = split.rows, split.units
    for j in range(n_rare):
        p = scratch.rare[j]
        last = scratch.rare_ends[j]
        weight = scratch.rare_weights[j]
        while p < last:
            row = np.int64(rows[np.uint64(p)])
            if row >= limit:
                break
            acc[np.uint64(row - first)] += weight * np.int64(units[np.uint64(p)]) + 1
            p += 1
        scratch.rare[j] = p


@inline
def _sum_step(split, scratch, step, at, count_planes, weight_planes):  # type: ignore[no-untyped-def]
    """Overlaps, where any planes are for them, and weights of a step's 512 rows, as bytes."""
    word = counts_at(split, scratch, step)
    if count_planes > 0:
        weighted_sum(scratch, scratch.count_offsets, scratch.count_starts, word, count_planes)
        to_bytes(scratch.planes, 0, scratch.sums, at)
        if count_planes > 8:
            to_bytes(scratch.planes, 8, scratch.sums, CHUNK + at)
    weighted_sum(scratch, scratch.weight_offsets, scratch.weight_starts, word, weight_planes)
    to_bytes(scratch.planes, 0, scratch.sums, 2 * CHUNK + at)
    to_bytes(scratch.planes, 8, scratch.sums, 3 * CHUNK + at)


@inline
def _keep(  # type: ignore[no-untyped-def]
    split, work, scratch, pending, at, row, local, size, weight_step, beta, theta, dead
):
    """Put a row among the pending ones if its own bound reaches theta; their number."""
    if dead.size > 0 and dead[row]:
        return pending
    prefetch(split.ends, row)
    acc = work.acc[local]
    upper, overlap, weight = upper_of_row(
        split, scratch.sums, at, row, acc, size, weight_step, beta
    )
    if overlap == 0 or upper < theta:
        return pending
    bound = np.float32(upper * (1.0 + 2.0**-16))
    return add_pending(scratch, pending, row, overlap, acc, weight, bound)


@inline
def _keep_lanes(  # type: ignore[no-untyped-def]
    split, work, scratch, pending, mask, at, row, local, size, weight_step, beta, theta, dead
):
    """Do so for those of eight rows whose bit is set in a mask."""
    there = min(max(0, split.ends.size - 1 - row), LANES)  # of damaged bitmaps others may pass
    rest = np.int64(mask) & ((1 << there) - 1)
    while rest:
        lane = trailing_zeros(rest)
        rest &= rest - 1
        pending = _keep(
            split, work, scratch, pending, at + lane, row + lane, local + lane, size,
            weight_step, beta, theta, dead,
        )  # fmt: skip
    return pending


@inline
def maxima_of_eights(uppers, groups, rows):  # type: ignore[no-untyped-def]
    """Largest bound of every eight rows that share a lane in 64; the number of groups."""
    count = 0
    for start in range(0, rows, LANES * LANES):
        best = load_floats(uppers, start)
        for j in range(1, LANES):
            best = larger(best, load_floats(uppers, start + j * LANES))
        store_floats(groups, count, best)
        count += LANES
    return count


@routine
def _first_theta(split, work, scratch, limit, size, n_neighbors, beta, weight_step, dead):  # type: ignore[no-untyped-def]
    """Complete the best rows of the first chunk; sizes of heap and pending.

    At least S groups reach the S-th largest group maximum, so at least S rows are completed first.
    """
    if dead.size > 0:
        for row in range(limit):
            if dead[row]:
                scratch.uppers[row] = 0.0
    padded = (limit + STEP_ROWS - 1) // STEP_ROWS * STEP_ROWS
    groups = maxima_of_eights(scratch.uppers, scratch.maxima, padded)
    cut = nth_largest(scratch.maxima, groups, n_neighbors, scratch.histogram)
    lowest, highest = cut_value(cut), np.float32(np.inf)
    found, pending = np.int64(0), np.int64(0)
    for _ in range(2):
        theta = threshold(work, found, n_neighbors)
        for row in range(0, padded, LANES):
            if pending > PENDING - LANES:
                found = complete_all(split, work, scratch, pending, found, n_neighbors, size, beta)
                pending = np.int64(0)
            uppers = load_floats(scratch.uppers, row)
            mask = at_least(uppers, splat(lowest)) & ~at_least(uppers, splat(highest))
            if mask:
                pending = _keep_lanes(
                    split, work, scratch, pending, mask, row, row, row, size, weight_step, beta,
                    theta, dead,
                )  # fmt: skip
        if highest == np.inf:
            found = complete_all(split, work, scratch, pending, found, n_neighbors, size, beta)
            pending = np.int64(0)
            highest = lowest
            lowest = min(lowest, threshold(work, found, n_neighbors))
    return found, pending


@inline
def _bound_rows(split, work, scratch, base, first, size, weight_step, theta, storing, wide, power):  # type: ignore[no-untyped-def]
    """Bound a step's rows: store the bounds, or in masks which rows pass.

    Nothing but vectors in these loops: what is done with the rows that pass waits until after.
    """
    if storing:
        for row in range(base, base + STEP_ROWS, LANES):
            store_uppers(
                split, work, scratch.sums, row, row, row - first, size, weight_step, wide, power,
                scratch.uppers,
            )  # fmt: skip
    else:
        for at in range(0, STEP_ROWS, LANES):
            scratch.masks[np.uint64(at >> 3)] = passing(
                split, work, scratch.sums, at, base + at, base + at - first, size, weight_step,
                wide, power, theta,
            )  # fmt: skip


@inline
def _step(  # type: ignore[no-untyped-def]
    split,
    work,
    scratch,
    pending,
    step,
    first,
    size,
    beta,
    weight_step,
    planes,
    theta,
    dead,
    storing,
):
    """Bound the rows of a step and store the bounds, or keep the rows that pass; the pending."""
    base = step * STEP_ROWS
    _sum_step(split, scratch, step, base if storing else 0, planes[0], planes[1])
    # Each call is compiled for its constants.
    common = split, work, scratch, base, first, size, weight_step, theta, storing
    if planes[0] > 8:
        _bound_rows(*common, True, min(2, int(beta)))
    elif beta < 1.0:
        _bound_rows(*common, False, 0)
    elif beta < 2.0:
        _bound_rows(*common, False, 1)
    else:
        _bound_rows(*common, False, 2)
    if storing:
        return pending
    for i in range(STEP_ROWS // LANES):
        mask = scratch.masks[i]
        if mask:
            at = i * LANES
            pending = _keep_lanes(
                split, work, scratch, pending, mask, at, base + at, base + at - first, size,
                weight_step, beta, theta, dead,
            )  # fmt: skip
    return pending


@routine
def dense_search(  # type: ignore[no-untyped-def]
    split, work, scratch, plan, size, n_neighbors, beta, dead, floor
):
    """Fill the heap of ``work`` with the best rows of its query; their number.

    ``floor`` is a similarity that S rows are known to reach, or 0. Without it the first chunk's
    bounds are stored, to find such a value by completing its best rows.
    """
    n_rows = split.ends.size - 1
    count_planes, weight_planes, step64 = plan_sums(split, scratch, plan[1], n_neighbors, beta)
    weight_planes = max(9, weight_planes)  # both bytes of a weight are read
    if beta == 0.0:
        count_planes = 0  # nothing depends on the overlaps
    scratch.weight_step[0] = step64 * (1.0 / COS_SCALE)
    weight_step = np.float32(step64 * (1.0 + 2.0**-20))
    scratch.sums[: 2 * CHUNK] = 0
    found, pending = np.int64(0), np.int64(0)
    at_once = n_rows <= _AT_ONCE
    if at_once:
        _scatter(split, scratch, plan[0], 0, n_rows, work.acc)
    for first in range(0, n_rows, CHUNK):
        limit = min(first + CHUNK, n_rows)
        storing = first == 0 and floor == 0.0
        origin = 0 if at_once else first
        if not at_once:
            _scatter(split, scratch, plan[0], first, limit, work.acc)
        for step in range(first // STEP_ROWS, (limit + STEP_ROWS - 1) // STEP_ROWS):
            if pending > PENDING - STEP_ROWS:
                found = complete_all(split, work, scratch, pending, found, n_neighbors, size, beta)
                pending = np.int64(0)
            theta = max(floor, threshold(work, found, n_neighbors))
            pending = _step(
                split, work, scratch, pending, step, origin, size, beta, weight_step,
                (count_planes, weight_planes), theta, dead, storing,
            )  # fmt: skip
        if storing:
            found, pending = _first_theta(
                split, work, scratch, limit, size, n_neighbors, beta, weight_step, dead
            )
        work.acc[first - origin : limit - origin] = 0
        if pending > _RAISE_AT * n_neighbors:
            found, pending = complete_best(
                split, work, scratch, pending, found, n_neighbors, size, beta
            )
    return complete_all(split, work, scratch, pending, found, n_neighbors, size, beta)
