"""The budgeted mode: at most so many rows are completed, and it is counted what might be missing.

Only rows that share one of the query's rare features are looked at; those with the largest dot
product over the rare features are completed. Where no more such rows exist than the budget allows,
the query is answered exactly.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels.bounds import MARGIN
from swnn_kernels.cache import routine
from swnn_kernels.completion import (
    PENDING,
    bucket_of,
    complete_listed,
)
from swnn_kernels.fixed_point import COS_SCALE
from swnn_kernels.sparse import (
    remaining_mass,
    remaining_reach,
    touch,
    upper_of_touched,
    upper_of_untouched,
)


@routine
def _cut(work, scratch, count, budget):  # type: ignore[no-untyped-def]
    """Find the bucket of rare dots that the budget's last row lies in."""
    scratch.histogram[:] = 0
    for i in range(count):
        dot = np.float32((work.acc[scratch.touched[i]] >> 16) * COS_SCALE)
        scratch.histogram[bucket_of(dot)] += 1
    bucket = scratch.histogram.size - 1
    held = np.int64(0)
    while bucket > 0:
        held += scratch.histogram[bucket]
        if held >= budget:
            break
        bucket -= 1
    return bucket


@routine
def budget_search(  # type: ignore[no-untyped-def]
    split, work, scratch, plan, size, n_neighbors, beta, dead, budget
):
    """Fill the heap of ``work``; its size and the number of rows that might still belong to it.

    The size is -1 where no more rows share a rare feature than the budget allows: then an exact
    path is to answer.
    """
    n_rare, n_frequent, _, mass = plan
    count = touch(split, work, scratch, n_rare)
    if count < max(budget, n_neighbors):
        for i in range(count):
            work.acc[scratch.touched[i]] = 0
        return np.int64(-1), np.int64(0)
    rest, reach = remaining_mass(mass), remaining_reach(scratch)
    cut = _cut(work, scratch, count, budget)
    found, pending = np.int64(0), np.int64(0)
    for above in range(2):  # first the rows above the last one's bucket, then those in it
        for i in range(count):
            row = np.int64(scratch.touched[i])
            acc = work.acc[row]
            bucket = bucket_of(np.float32((acc >> 16) * COS_SCALE))
            wanted = bucket > cut if above == 0 else bucket == cut
            if acc == 0 or not wanted or pending == min(budget, PENDING):
                continue
            work.acc[row] = 0  # what is left there in the end was not completed
            if dead.size > 0 and dead[row]:
                continue
            scratch.rows[pending] = row
            scratch.overlaps[pending] = -1
            scratch.accs[pending] = acc
            scratch.weights_of[pending] = -1
            scratch.bounds[pending] = np.float32(np.inf)
            pending += 1
    for i in range(pending):
        scratch.order[i] = i
    found = complete_listed(split, work, scratch, pending, found, n_neighbors, size, beta)
    theta = work.sims[0] * MARGIN if found == n_neighbors else 0.0
    might = np.int64(0)
    for i in range(count):
        row = np.int64(scratch.touched[i])
        acc = work.acc[row]
        work.acc[row] = 0
        if acc != 0 and not (dead.size > 0 and dead[row]):
            might += upper_of_touched(split, row, acc, rest, reach, n_frequent, size, beta) >= theta
    if n_frequent > 0 and upper_of_untouched(rest, n_frequent, size, beta) >= theta:
        might += split.ends.size - 1 - count
    return found, might
