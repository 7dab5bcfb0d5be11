"""The pruned kernel for queries that touch most rows: bounds for all rows, few completions."""

from __future__ import annotations

import numpy as np

from swnn_kernels.bitslice import STEP_ROWS, STEP_WORDS, to_bytes, weighted_sum
from swnn_kernels.bounds import CHUNK, LANES, passing, store_uppers, upper_of_row
from swnn_kernels.cache import inline
from swnn_kernels.completion import (
    PENDING,
    complete_all,
    complete_best,
    cut_value,
    nth_largest,
    threshold,
)
from swnn_kernels.prepare import plan_sums
from swnn_kernels.vectors import larger, load_floats, store_floats

_RAISE_AT = 6  # times S pending rows: then it pays to raise theta before going on


@inline
def _scatter(split, scratch, n_rare, first, limit, acc):  # type: ignore[no-untyped-def]
    """Add the rare lists' postings of rows below ``limit`` to the accumulators."""
    rows, units = split.lists.rows, split.lists.units
    for j in range(n_rare):
        p = scratch.rare[j]
        last = scratch.rare_ends[j]
        weight = scratch.rare_weights[j]
        while p < last:
            row = np.int64(rows[p])
            if row >= limit:
                break
            acc[np.uint64(row - first)] += weight * np.int64(units[p]) + 1
            p += 1
        scratch.rare[j] = p


@inline
def _sum_step(split, scratch, step, at, count_planes, mass_planes):  # type: ignore[no-untyped-def]
    """Overlaps and masses of the 512 rows of a step, as bytes at ``at``."""
    word = step * STEP_WORDS
    weighted_sum(
        split.bits, scratch.count_offsets, scratch.count_starts, word, scratch.planes,
        count_planes, scratch.queue, scratch.slots, STEP_WORDS,
    )  # fmt: skip
    to_bytes(scratch.planes, 0, scratch.sums, at)
    if count_planes > 8:
        to_bytes(scratch.planes, 8, scratch.sums, CHUNK + at)
    weighted_sum(
        split.bits, scratch.mass_offsets, scratch.mass_starts, word, scratch.planes, mass_planes,
        scratch.queue, scratch.slots, 0,
    )  # fmt: skip
    to_bytes(scratch.planes, 0, scratch.sums, 2 * CHUNK + at)
    to_bytes(scratch.planes, 8, scratch.sums, 3 * CHUNK + at)


@inline
def _keep(split, work, scratch, pending, at, row, local, size, mass_step, beta, theta, dead):  # type: ignore[no-untyped-def]
    """Put a row among the pending ones if its own bound reaches theta; their number."""
    if dead.size > 0 and dead[row]:
        return pending
    acc = work.acc[local]
    upper, overlap = upper_of_row(split, scratch.sums, at, row, acc, size, mass_step, beta)
    if overlap == 0 or upper < theta:
        return pending
    scratch.rows[pending] = row
    scratch.overlaps[pending] = overlap
    scratch.accs[pending] = acc
    scratch.bounds[pending] = np.float32(upper * (1.0 + 2.0**-16))
    return pending + 1


@inline
def _group_maxima(uppers, groups, rows):  # type: ignore[no-untyped-def]
    """Largest bound of every eight rows that share a lane in 64; the number of groups."""
    count = 0
    for start in range(0, rows, LANES * LANES):
        best = load_floats(uppers, start)
        for j in range(1, LANES):
            best = larger(best, load_floats(uppers, start + j * LANES))
        store_floats(groups, count, best)
        count += LANES
    return count


@inline
def _first_chunk(  # type: ignore[no-untyped-def]
    split, work, scratch, limit, size, n_neighbors, beta, power, mass_step, planes, dead
):
    """Bounds of the first chunk's rows; complete the best of them; sizes of heap and pending."""
    steps = (limit + STEP_ROWS - 1) // STEP_ROWS
    for step in range(steps):
        base = step * STEP_ROWS
        _sum_step(split, scratch, step, base, planes[0], planes[1])
        for at in range(base, base + STEP_ROWS, LANES):
            store_uppers(
                split, work, scratch.sums, at, at, at, size, mass_step, planes[0] > 8, power,
                scratch.uppers,
            )  # fmt: skip
    if dead.size > 0:
        for row in range(limit):
            if dead[row]:
                scratch.uppers[row] = 0.0
    groups = _group_maxima(scratch.uppers, scratch.groups, steps * STEP_ROWS)
    cut = nth_largest(scratch.groups, groups, n_neighbors, scratch.histogram)
    found, pending = 0, 0
    lowest = cut_value(cut)
    for row in range(limit):
        if scratch.uppers[row] >= lowest:
            pending = _keep(
                split, work, scratch, pending, row, row, row, size, mass_step, beta, 0.0, dead
            )
            if pending == PENDING:
                found = complete_all(
                    split, work, scratch, pending, found, n_neighbors, size, beta
                )
                pending = 0
    found = complete_all(split, work, scratch, pending, found, n_neighbors, size, beta)
    pending = 0
    theta = threshold(work, found, n_neighbors)
    for row in range(limit):
        if lowest > scratch.uppers[row] >= theta:
            pending = _keep(
                split, work, scratch, pending, row, row, row, size, mass_step, beta, theta, dead
            )
            if pending == PENDING:
                found = complete_all(
                    split, work, scratch, pending, found, n_neighbors, size, beta
                )
                pending = 0
                theta = threshold(work, found, n_neighbors)
    return found, pending


@inline
def _next_step(  # type: ignore[no-untyped-def]
    split, work, scratch, pending, step, first, size, beta, power, mass_step, planes, theta, dead
):
    """Filter the rows of a step; the number of pending rows."""
    _sum_step(split, scratch, step, 0, planes[0], planes[1])
    base = step * STEP_ROWS
    for at in range(0, STEP_ROWS, LANES):
        mask = passing(
            split, work, scratch.sums, at, base + at, base + at - first, size, mass_step,
            planes[0] > 8, power, theta,
        )  # fmt: skip
        if mask:
            for lane in range(LANES):
                if (mask >> lane) & 1 and base + at + lane < split.ends.size - 1:
                    pending = _keep(
                        split, work, scratch, pending, at + lane, base + at + lane,
                        base + at + lane - first, size, mass_step, beta, theta, dead,
                    )  # fmt: skip
    return pending


@inline
def dense_search(split, work, scratch, n_rare, n_frequent, mass, size, n_neighbors, beta, dead):  # type: ignore[no-untyped-def]
    """Fill the heap of ``work`` with the best rows of its query; their number."""
    n_rows = split.ends.size - 1
    count_planes, mass_planes, mass_step64 = plan_sums(split, scratch, n_frequent, mass)
    mass_step = np.float32(mass_step64 * (1.0 + 2.0**-20))
    planes = (count_planes, mass_planes)
    power = min(2, int(beta))
    if count_planes <= 8:
        scratch.sums[CHUNK : 2 * CHUNK] = 0
    limit = min(CHUNK, n_rows)
    _scatter(split, scratch, n_rare, 0, limit, work.acc)
    found, pending = _first_chunk(
        split, work, scratch, limit, size, n_neighbors, beta, power, mass_step, planes, dead
    )
    work.acc[:limit] = 0
    for first in range(CHUNK, n_rows, CHUNK):
        limit = min(first + CHUNK, n_rows)
        _scatter(split, scratch, n_rare, first, limit, work.acc)
        for step in range(first // STEP_ROWS, (limit + STEP_ROWS - 1) // STEP_ROWS):
            if pending > PENDING - STEP_ROWS:
                found = complete_all(
                    split, work, scratch, pending, found, n_neighbors, size, beta
                )
                pending = 0
            theta = threshold(work, found, n_neighbors)
            pending = _next_step(
                split, work, scratch, pending, step, first, size, beta, power, mass_step, planes,
                theta, dead,
            )  # fmt: skip
        work.acc[: limit - first] = 0
        if pending > _RAISE_AT * n_neighbors:
            found, pending = complete_best(
                split, work, scratch, pending, found, n_neighbors, size, beta
            )
    return complete_all(split, work, scratch, pending, found, n_neighbors, size, beta)
