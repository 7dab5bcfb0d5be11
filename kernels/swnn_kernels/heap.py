"""The best S rows so far: a heap with the worst of them on top.

A row is better than another if its similarity is larger or, at equal similarity, its id smaller.
"""

from __future__ import annotations

from swnn_kernels._numba import inline
from swnn_kernels.records import Bool, Float, Float64, Int, Int64


@inline
def better(sim: Float, row: Int, other_sim: Float, other_row: Int) -> Bool:
    """Whether (sim, row) ranks before (other_sim, other_row)."""
    return sim > other_sim or (sim == other_sim and row < other_row)


@inline
def _sift_down(sims: Float64, rows: Int64, size: Int, sim: Float, row: Int) -> None:
    """Put (sim, row) where it belongs, starting from a hole at the top."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and better(sims[child], rows[child], sims[right], rows[right]):
            child = right
        if not better(sim, row, sims[child], rows[child]):
            break
        sims[at] = sims[child]
        rows[at] = rows[child]
        at = child
    sims[at] = sim
    rows[at] = row


@inline
def push(sims: Float64, rows: Int64, size: Int, capacity: Int, sim: Float, row: Int) -> Int:
    """Offer a row to the heap; return the new size."""
    if size < capacity:
        at = size
        while at > 0:
            parent = (at - 1) // 2
            if not better(sims[parent], rows[parent], sim, row):
                break
            sims[at] = sims[parent]
            rows[at] = rows[parent]
            at = parent
        sims[at] = sim
        rows[at] = row
        return size + 1
    if capacity > 0 and better(sim, row, sims[0], rows[0]):
        _sift_down(sims, rows, size, sim, row)
    return size


@inline
def pop(sims: Float64, rows: Int64, size: Int) -> Int:
    """Remove the worst row, which is the first; return the new size."""
    _sift_down(sims, rows, size - 1, sims[size - 1], rows[size - 1])
    return size - 1


@inline
def sort_best_first(sims: Float64, rows: Int64, size: Int) -> None:
    """Turn the heap into a list, best first."""
    for last in range(size - 1, 0, -1):
        sim = sims[last]
        row = rows[last]
        sims[last] = sims[0]
        rows[last] = rows[0]
        _sift_down(sims, rows, last, sim, row)
