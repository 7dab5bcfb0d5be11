"""The paper's loop: one pass over the query's lists, one scan over all rows.

Written for clarity; the fast kernel must return the same bits.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels.cache import inline
from swnn_kernels.heap import push
from swnn_kernels.similarity import similarity

PACK = 65536
"""One accumulator holds dot * PACK + overlap while the overlap stays below PACK."""


@inline
def accumulate(lists, indices, units, size, acc):  # type: ignore[no-untyped-def]
    """Add dot * PACK + overlap of every row to ``acc``."""
    for q in range(size):
        weight = np.int64(units[q]) * PACK
        for p in range(lists.starts[indices[q]], lists.starts[indices[q] + 1]):
            acc[np.uint32(lists.rows[p])] += weight * np.int64(lists.units[p]) + 1


@inline
def accumulate_apart(lists, indices, units, size, dots, overlaps):  # type: ignore[no-untyped-def]
    """Do the same for overlaps of any size, in two accumulators."""
    for q in range(size):
        weight = np.int64(units[q])
        for p in range(lists.starts[indices[q]], lists.starts[indices[q] + 1]):
            row = np.uint32(lists.rows[p])
            dots[row] += weight * np.int64(lists.units[p])
            overlaps[row] += 1


@inline
def reference_search(  # type: ignore[no-untyped-def]
    lists, row_sizes, n_rows, work, size, n_neighbors, beta, dead
):
    """Fill the heap of ``work`` with the best rows of its query; their number."""
    found = 0
    packed = work.overlaps.size == 0
    if packed:
        accumulate(lists, work.indices, work.units, size, work.acc)
    else:
        accumulate_apart(lists, work.indices, work.units, size, work.acc, work.overlaps)
    for row in range(n_rows):
        value = work.acc[row]
        work.acc[row] = 0
        dot = value >> 16 if packed else value
        overlap = value & (PACK - 1)
        if not packed:
            overlap = np.int64(work.overlaps[row])
            work.overlaps[row] = 0
        if dot <= 0 or (dead.size > 0 and dead[row]):
            continue
        sim = similarity(dot, overlap, size, row_sizes[row], beta)
        if sim > 0.0:
            found = push(work.sims, work.rows, found, n_neighbors, sim, row)
    return found
