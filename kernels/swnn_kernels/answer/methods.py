"""Which search answers: the choice is made once for an index and its settings."""

from __future__ import annotations

from swnn_kernels._numba import IS_FULL
from swnn_kernels.index.hybrid import HybridIndex
from swnn_kernels.neighbours.sizes import LONGEST_QUERY, PACK

METHODS = ("auto", "exhaustive", "pruned")
_FEW = 20  # with more than every 20th row as neighbour there is little to prune


def is_pruned(index: HybridIndex, method: str, n_neighbors: int, longest: int) -> bool:
    """Whether the pruned search answers queries of at most ``longest`` features.

    The pruned search needs vectors and holds overlaps in 16 bits; where there are none, or overlaps
    might not fit, the exhaustive search answers.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    fits = longest <= LONGEST_QUERY and (longest < PACK or index.largest_row < PACK)
    if method == "auto":
        few = n_neighbors * _FEW <= index.n_rows or not index.stored.frequent_features.size
        return IS_FULL and fits and few
    return IS_FULL and fits and method == "pruned"


def room_for(size: int, n_features: int) -> int:
    """Length of queries to make buffers for when one of this size has come.

    Twice as much as it needs; but beyond the longest query of the pruned search the slower
    exhaustive one would answer all.
    """
    room = min(2 * size, n_features)
    return min(room, LONGEST_QUERY) if size <= LONGEST_QUERY else room
