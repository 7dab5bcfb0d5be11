"""Search an index, on any backend, for queries from the host; results on the host."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from swnn_xp.backends import Index, Options, Placement
from swnn_xp.results import Neighbours
from swnn_xp.rows.records import QuantisedRows

Search = Callable[[QuantisedRows, int, float], Neighbours]
"""Finds neighbours of queries, given their number and beta; all on the host."""
_HOST = np.empty((0, 0))


def host_search(index: Index, placement: Placement, options: Options) -> Search:
    """Make a function that searches an index for queries from the host."""

    def search(queries: QuantisedRows, n_neighbors: int, beta: float) -> Neighbours:
        wanted = max(1, min(n_neighbors, index.n_rows))
        found = index.search(placement.rows(queries), wanted, beta, None, options)
        return Neighbours(*placement.as_input_kind(_HOST, *found))

    return search
