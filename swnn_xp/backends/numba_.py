"""The numba backend: an adapter around the compiled kernels of `swnn_kernels`."""

from __future__ import annotations

from typing import Any

import numpy as np

from swnn_kernels import InvertedIndex, OpenedIndex, rank, search, vote_found
from swnn_xp.backends._base import Index
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.records import LabelRows, QuantisedRows


class NumbaIndex(Index):
    """Training rows as an inverted index; search, vote and ranking in one compiled call."""

    backend = "numba"

    def __init__(self, inverted: InvertedIndex, memory_budget: int, n_jobs: int) -> None:
        self.inverted = inverted
        self.memory_budget = memory_budget
        self._n_jobs = n_jobs

    @classmethod
    def build(
        cls, rows: QuantisedRows, *, memory_budget: int, n_jobs: int = 1, device: Any = None
    ) -> NumbaIndex:
        """Prepare an index over the rows."""
        return cls(InvertedIndex.build(*rows), memory_budget, n_jobs)

    @classmethod
    def from_arrays(
        cls,
        arrays: dict[str, Any],
        n_features: int,
        *,
        memory_budget: int,
        n_jobs: int = 1,
        device: Any = None,
    ) -> NumbaIndex:
        """Make the index again out of ``arrays()``, without copying them."""
        return cls(OpenedIndex.from_arrays(arrays), memory_budget, n_jobs)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.inverted.n_rows

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.inverted.n_features

    def rows(self) -> QuantisedRows:
        """Return the rows that the index was built from."""
        return QuantisedRows(*self.inverted.rows(), self.n_features)

    def arrays(self) -> dict[str, Any]:
        """Return the arrays of the inverted index."""
        return self.inverted.arrays()

    def check(self) -> None:
        """Raise ValueError unless all arrays of the index fit together."""
        self.inverted.check()

    def shared(self, row: int, features: Any) -> tuple[Any, Any]:
        """Tell which of the features the row has: their positions and the row's quantised."""
        return self.inverted.shared(row, np.asarray(features))

    def search(
        self, queries: QuantisedRows, n_neighbors: int, beta: float, removed: Any = None
    ) -> Neighbours:
        """Find the best rows of each query, never one that is marked in ``removed``."""
        return Neighbours(
            *search(
                self.inverted, *queries[:3], n_neighbors, beta, dead=removed, n_jobs=self._n_jobs
            )
        )

    def rank(
        self,
        queries: QuantisedRows,
        labels: LabelRows,
        n_neighbors: int,
        alpha: float,
        beta: float,
        k: int,
        removed: Any = None,
    ) -> Ranking:
        """Find neighbours and let them vote, in one call."""
        return Ranking(
            *rank(
                self.inverted,
                *labels[:2],
                *queries[:3],
                n_neighbors,
                alpha,
                beta,
                k,
                dead=removed,
                n_jobs=self._n_jobs,
            )
        )

    def rank_found(self, found: Neighbours, labels: LabelRows, alpha: float, k: int) -> Ranking:
        """Let neighbours vote that were found before."""
        return Ranking(*vote_found(*labels[:2], *found, alpha, k))
