"""Leave-one-out searches of training: on any backend, with results on the host."""

from __future__ import annotations

import numpy as np

from swnn_xp.backends import Index, Options, Placement
from swnn_xp.learn.train import Indexer, Search
from swnn_xp.results import Neighbours
from swnn_xp.rows.records import QuantisedRows

_HOST = np.empty((0, 0))


def host_indexer(index_class: type[Index], placement: Placement, options: Options) -> Indexer:
    """Make a function that indexes rows from the host and returns their search."""

    def index(rows: QuantisedRows) -> Search:
        return host_search(index_class.build(placement.rows(rows), placement), placement, options)

    return index


def host_search(index: Index, placement: Placement, options: Options) -> Search:
    """Make a function that searches an index for queries from the host."""

    def search(queries: QuantisedRows, n_neighbors: int, beta: float) -> Neighbours:
        wanted = max(1, min(n_neighbors, index.n_rows))
        found = index.search(placement.rows(queries), wanted, beta, None, options)
        return Neighbours(*placement.as_input_kind(_HOST, *found))

    return search
