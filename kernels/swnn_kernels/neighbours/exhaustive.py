"""The paper's loop: one pass over the query's postings, one scan over all rows.

Written for clarity; the pruned search must return the same bits.
"""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import inline
from swnn_kernels.fixed_point import similarity
from swnn_kernels.heap import push
from swnn_kernels.index.arrays import Postings
from swnn_kernels.neighbours.records import OVERLAP_MASK, PACK, PACK_BITS, QueryBuffers, Task
from swnn_kernels.records import Int


@inline
def _accumulate(postings: Postings, buffers: QueryBuffers, size: Int) -> None:
    """Add dot * PACK + overlap of every row to the accumulators."""
    accumulators = buffers.accumulators
    for q in range(size):
        weight = np.int64(buffers.quantised[q]) * PACK
        feature = buffers.indices[q]
        for p in range(postings.indptr[feature], postings.indptr[feature + 1]):
            row = np.uint32(postings.rows[p])
            accumulators[row] += weight * np.int64(postings.quantised[p]) + 1


@inline
def _accumulate_apart(postings: Postings, buffers: QueryBuffers, size: Int) -> None:
    """Add dots and overlaps, of any size, to two arrays."""
    for q in range(size):
        weight = np.int64(buffers.quantised[q])
        feature = buffers.indices[q]
        for p in range(postings.indptr[feature], postings.indptr[feature + 1]):
            row = np.uint32(postings.rows[p])
            buffers.accumulators[row] += weight * np.int64(postings.quantised[p])
            buffers.overlaps[row] += 1


@inline
def search_exhaustive(postings: Postings, buffers: QueryBuffers, task: Task, size: Int) -> Int:
    """Fill the heap with the best rows of the query in the buffers; return their number."""
    found, removed, n_neighbors = 0, task.removed, buffers.sims.size
    is_packed = buffers.overlaps.size == 0
    if is_packed:
        _accumulate(postings, buffers, size)
    else:
        _accumulate_apart(postings, buffers, size)
    for row in range(postings.n_rows):
        value = buffers.accumulators[row]
        buffers.accumulators[row] = 0
        dot = value >> PACK_BITS if is_packed else value
        overlap = value & OVERLAP_MASK
        if not is_packed:
            overlap = np.int64(buffers.overlaps[row])
            buffers.overlaps[row] = 0
        if dot <= 0 or (removed.size > 0 and removed[row]):
            continue
        sim = similarity(dot, overlap, size, postings.row_sizes[row], task.beta)
        if sim > 0.0:
            found = push(buffers.sims, buffers.rows, found, n_neighbors, sim, row)
    return found
