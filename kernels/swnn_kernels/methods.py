"""Which kernel answers: the choice is made once for an index and its parameters."""

from __future__ import annotations

from swnn_kernels.index import InvertedIndex
from swnn_kernels.prepare import LONGEST_QUERY
from swnn_kernels.reference import PACK

METHODS = ("auto", "reference", "pruned")
_FEW = 20  # with more than every 20th row as neighbour there is little to prune


def is_pruned(index: InvertedIndex, method: str, n_neighbors: int, longest: int) -> bool:
    """Whether the pruned kernel is to answer queries of at most ``longest`` features.

    The pruned kernel holds overlaps in 16 bits; where they might not fit, the reference answers.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}")
    fits = longest <= LONGEST_QUERY and (longest < PACK or index.largest_row < PACK)
    if method == "auto":
        few = n_neighbors * _FEW <= index.n_rows or not index.frequent.size
        return fits and few
    return fits and method == "pruned"


def room_for(size: int, n_features: int) -> int:
    """Length of queries to make room for where one of this size has come.

    Twice as much as it needs; but room for more than the pruned kernel takes is for no kernel but
    the reference, which is slower.
    """
    room = min(2 * size, n_features)
    return min(room, LONGEST_QUERY) if size <= LONGEST_QUERY else room
