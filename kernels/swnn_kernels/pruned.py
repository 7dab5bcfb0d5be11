"""The exact pruned kernel: chooses a path for every query."""

from __future__ import annotations

from swnn_kernels.cache import inline
from swnn_kernels.dense import dense_search
from swnn_kernels.prepare import forget_query, split_query


@inline
def pruned_search(split, work, scratch, size, n_neighbors, beta, dead):  # type: ignore[no-untyped-def]
    """Fill the heap of ``work`` with the best rows of its query; their number."""
    if n_neighbors == 0:
        return 0
    n_rare, n_frequent, postings, mass = split_query(split, work, scratch, size)
    found = dense_search(
        split, work, scratch, n_rare, n_frequent, mass, size, n_neighbors, beta, dead
    )
    forget_query(scratch, n_frequent)
    return found
