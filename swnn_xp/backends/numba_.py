"""The numba backend: an adapter around the compiled kernels of `swnn_kernels`."""

from __future__ import annotations

from typing import Any

import numpy as np

from swnn_kernels import (
    HybridIndex,
    Labels,
    Rows,
    Settings,
    UntrustedIndex,
    rank,
    search,
    vote_batch,
)
from swnn_xp._types import LabelRows, Neighbours, Ranking, UnitRows
from swnn_xp.backends._base import Index


class NumbaIndex(Index):
    """Training rows as an inverted index; search, vote and ranking in one compiled call."""

    backend = "numba"

    def __init__(self, inverted: HybridIndex, memory_budget: int, n_jobs: int) -> None:
        self.inverted = inverted
        self.memory_budget = memory_budget
        self._n_jobs = n_jobs
        self._labels: tuple[LabelRows, Labels] | None = None

    @classmethod
    def build(
        cls, rows: UnitRows, *, memory_budget: int, n_jobs: int = 1, device: Any = None
    ) -> NumbaIndex:
        """Prepare an index over the rows."""
        return cls(HybridIndex.build(Rows(*rows)), memory_budget, n_jobs)

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
        return cls(UntrustedIndex.from_arrays(arrays), memory_budget, n_jobs)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.inverted.n_rows

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.inverted.n_features

    def rows(self) -> UnitRows:
        """Return the rows that the index was built from."""
        return UnitRows(*self.inverted.rows())

    def arrays(self) -> dict[str, Any]:
        """Return the arrays of the inverted index."""
        return self.inverted.arrays()

    def check(self) -> None:
        """Raise ValueError unless all arrays of the index fit together."""
        self.inverted.check()

    def shared(self, row: int, features: Any) -> tuple[Any, Any]:
        """Tell which of the features the row has: their positions and the row's units."""
        return self.inverted.shared(row, np.asarray(features))

    def search(
        self, queries: UnitRows, n_neighbors: int, beta: float, dead: Any = None
    ) -> Neighbours:
        """Find the best rows of each query, never one that is marked in ``dead``."""
        rows, n_jobs = Rows(*queries), self._n_jobs
        return Neighbours(
            *search(self.inverted, rows, n_neighbors, beta, removed=dead, n_jobs=n_jobs)
        )

    def rank(
        self,
        queries: UnitRows,
        labels: LabelRows,
        n_neighbors: int,
        alpha: float,
        beta: float,
        k: int,
        dead: Any = None,
    ) -> Ranking:
        """Find neighbours and let them vote, in one call."""
        return Ranking(
            *rank(
                self.inverted,
                self._prepared(labels),
                Rows(*queries),
                Settings(n_neighbors, alpha, beta),
                k,
                removed=dead,
                n_jobs=self._n_jobs,
            )
        )

    def rank_found(self, found: Neighbours, labels: LabelRows, alpha: float, k: int) -> Ranking:
        """Let neighbours vote that were found before."""
        return Ranking(*vote_batch(self._prepared(labels), *found, alpha, k))

    def _prepared(self, labels: LabelRows) -> Labels:
        """Labels as the kernels take them; prepared once, not in every call."""
        held = self._labels
        if held is None or held[0] is not labels:
            held = self._labels = labels, Labels.prepare(*labels[:2])
        return held[1]
