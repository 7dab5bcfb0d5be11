"""The pruned kernel for queries whose rare features touch few rows: only those are looked at.

Rows that share none of the rare features can have at most the mass of the query's frequent ones;
if that cannot reach the S-th best row found, the answer is complete.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels.bounds import MARGIN
from swnn_kernels.cache import inline, routine
from swnn_kernels.completion import PENDING, add_pending, complete_all, threshold
from swnn_kernels.fixed_point import COS_SCALE, FRACTION_BITS
from swnn_kernels.heap import push
from swnn_kernels.similarity import similarity
from swnn_kernels.vectors import half_to_float


@inline
def touch(split, work, scratch, n_rare):  # type: ignore[no-untyped-def]
    """Add the rare lists to the accumulators; the number of rows touched."""
    count = 0
    for j in range(n_rare):
        weight = scratch.rare_weights[j]
        for p in range(scratch.rare[j], scratch.rare_ends[j]):
            row = np.uint64(split.rows[np.uint64(p)])
            held = work.acc[row]
            if held == 0:
                scratch.touched[count] = row
                count += 1
            work.acc[row] = held + weight * np.int64(split.units[np.uint64(p)]) + 1
    return count


@inline
def upper_of_touched(split, row, acc, rest, reach, n_frequent, size, beta):  # type: ignore[no-untyped-def]
    """Bound of a row from its listed part alone: the frequent part may match in full."""
    upper = np.float64(acc >> 16) * COS_SCALE
    upper += min(rest, reach * np.float64(half_to_float(split.scales[row])))
    row_size = np.int64(split.row_sizes[row])
    overlap = min((acc & 0xFFFF) + n_frequent, row_size)
    if beta > 0.0:
        ratio = np.float64(overlap) / np.float64(size + row_size - overlap)
        if beta == 1.0:
            upper *= ratio
        else:
            upper *= ratio**beta
    return upper


@inline
def upper_of_untouched(rest, n_frequent, size, beta):  # type: ignore[no-untyped-def]
    """Bound of all rows that share no rare feature: J is at most n_frequent / size."""
    return rest * (np.float64(n_frequent) / np.float64(max(1, size))) ** beta


@inline
def remaining_mass(mass):  # type: ignore[no-untyped-def]
    """Norm of the query's frequent part times the most that a row's norm is as its units round."""
    return np.sqrt(mass * COS_SCALE) * (1.0 + 2.0**-16)


@inline
def remaining_reach(scratch):  # type: ignore[no-untyped-def]
    """Most that the frequent features add to a row's dot over its scale, rounded up."""
    return scratch.reach[0] * 2.0**-FRACTION_BITS * (1.0 + 2.0**-20)


@routine
def sparse_search(  # type: ignore[no-untyped-def]
    split, work, scratch, plan, size, n_neighbors, beta, dead
):
    """Fill the heap of ``work``; its size and whether no other row can belong to the answer."""
    n_rare, n_frequent, _, mass = plan
    count = touch(split, work, scratch, n_rare)
    rest, reach = remaining_mass(mass), remaining_reach(scratch)
    found, pending = np.int64(0), np.int64(0)
    for i in range(count):
        row = np.int64(scratch.touched[i])
        acc = work.acc[row]
        work.acc[row] = 0
        if dead.size > 0 and dead[row]:
            continue
        if n_frequent == 0:
            if acc >> 16 > 0:
                sim = similarity(acc >> 16, acc & 0xFFFF, size, split.row_sizes[row], beta)
                if sim > 0.0:
                    found = push(work.sims, work.rows, found, n_neighbors, sim, row)
            continue
        upper = upper_of_touched(split, row, acc, rest, reach, n_frequent, size, beta)
        if upper < threshold(work, found, n_neighbors):
            continue
        bound = np.float32(upper * (1.0 + 2.0**-16))
        pending = add_pending(scratch, pending, row, np.int64(-1), acc, np.int64(-1), bound)
        if pending == PENDING:
            found = complete_all(split, work, scratch, pending, found, n_neighbors, size, beta)
            pending = np.int64(0)
    if n_frequent == 0:
        return found, True
    found = complete_all(split, work, scratch, pending, found, n_neighbors, size, beta)
    if found < n_neighbors:
        return found, False
    return found, upper_of_untouched(rest, n_frequent, size, beta) < work.sims[0] * MARGIN
