"""What a query returns: named tuples of two arrays, one row for each query."""

from __future__ import annotations

from typing import Any, NamedTuple


class Neighbours(NamedTuple):
    """The best rows of each query, best first; missing places hold id -1 and similarity 0."""

    ids: Any  # int64, (n_queries, n_neighbors)
    sims: Any  # float64, (n_queries, n_neighbors)


class Ranking(NamedTuple):
    """The best labels of each query, best first; missing places hold label -1 and score 0."""

    labels: Any  # int64, (n_queries, k)
    scores: Any  # float64, (n_queries, k)
