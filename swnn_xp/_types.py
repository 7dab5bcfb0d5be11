"""The few records that travel between the stations.

Arrays are of any array-API namespace; a record never mixes namespaces or devices.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

Array: TypeAlias = Any
"""An array of any array-API namespace (NumPy, CuPy, torch, array-api-strict)."""


class UnitRows(NamedTuple):
    """Canonical sparse rows of unit length in fixed point (see ``unit_rows``).

    Row ``i`` has the features ``indices[indptr[i]:indptr[i + 1]]``, ascending and without
    repeats, with the integers ``units`` (unit value times 2**23, so at most 2**23 in magnitude).
    A stored unit may be 0: it still belongs to the row's support.
    """

    indptr: Array  # int64, (n_rows + 1,)
    indices: Array  # int32, (nnz,)
    units: Array  # int32, (nnz,)
    n_features: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.indptr.shape[0]) - 1


class LabelRows(NamedTuple):
    """The labels of each row: ``indices[indptr[i]:indptr[i + 1]]``, ascending, without repeats."""

    indptr: Array  # int64, (n_rows + 1,)
    indices: Array  # int32, (nnz,)
    n_labels: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.indptr.shape[0]) - 1


class Neighbours(NamedTuple):
    """The best rows of each query, best first; missing places hold id -1 and similarity 0."""

    ids: Array  # int64, (n_queries, n_neighbors)
    sims: Array  # float64, (n_queries, n_neighbors)


class Ranking(NamedTuple):
    """The best labels of each query, best first; missing places hold label -1 and score 0."""

    labels: Array  # int64, (n_queries, k)
    scores: Array  # float64, (n_queries, k)
