"""The best S rows so far: a heap with the worst of them on top.

A row is better than another if its similarity is larger or, at equal similarity, its id smaller.
"""

from __future__ import annotations

from swnn_kernels._numba import inline


@inline
def better(sim, row, other_sim, other_row):  # type: ignore[no-untyped-def]
    """Whether (sim, row) ranks before (other_sim, other_row)."""
    return sim > other_sim or (sim == other_sim and row < other_row)


@inline
def _sift_down(sims, rows, size, sim, row):  # type: ignore[no-untyped-def]
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
def push(sims, rows, size, capacity, sim, row):  # type: ignore[no-untyped-def]
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
def sort_best_first(sims, rows, size):  # type: ignore[no-untyped-def]
    """Turn the heap into a list, best first."""
    for last in range(size - 1, 0, -1):
        sim = sims[last]
        row = rows[last]
        sims[last] = sims[0]
        rows[last] = rows[0]
        _sift_down(sims, rows, last, sim, row)
