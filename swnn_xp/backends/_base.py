"""What a backend is: an index over training rows that finds neighbours and ranks labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from swnn_xp._types import Array, LabelRows, Neighbours, Ranking, UnitRows
from swnn_xp.vote import rank, vote

_BALLOT_BYTES = 120  # temporaries of `vote` and `rank` for one (neighbour, label) pair


class Index(ABC):
    """Training rows, prepared for search by one backend.

    A subclass finds neighbours. Ranking has a default, for backends that do not fuse the two.
    """

    backend: ClassVar[str]
    memory_budget: int

    @classmethod
    @abstractmethod
    def build(cls, rows: UnitRows, *, memory_budget: int, n_jobs: int) -> Index:
        """Prepare an index over the rows."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of features."""

    @abstractmethod
    def search(
        self, queries: UnitRows, n_neighbors: int, beta: float, dead: Array | None = None
    ) -> Neighbours:
        """Find the best rows of each query, never one that is marked in ``dead``."""

    @abstractmethod
    def rows(self) -> UnitRows:
        """Return the rows that the index was built from."""

    @abstractmethod
    def arrays(self) -> dict[str, Any]:
        """Return the NumPy arrays that make up the index, for a store."""

    @classmethod
    @abstractmethod
    def from_arrays(
        cls, arrays: dict[str, Any], n_features: int, *, memory_budget: int, n_jobs: int
    ) -> Index:
        """Make the index again out of ``arrays()``, without copying them."""

    def shared(self, row: int, features: Any) -> tuple[Any, Any]:
        """Tell which of the (ascending) features the row has: their positions, the row's units."""
        rows = self.rows()
        start, stop = int(rows.indptr[row]), int(rows.indptr[row + 1])
        _, positions, at = np.intersect1d(
            features, rows.indices[start:stop], assume_unique=True, return_indices=True
        )
        return positions, rows.units[start:stop][at]

    def rank(
        self,
        queries: UnitRows,
        labels: LabelRows,
        n_neighbors: int,
        alpha: float,
        beta: float,
        k: int,
        dead: Array | None = None,
    ) -> Ranking:
        """Find neighbours and let them vote: the best labels of each query."""
        return self.vote(self.search(queries, n_neighbors, beta, dead), labels, alpha, k)

    def vote(self, found: Neighbours, labels: LabelRows, alpha: float, k: int) -> Ranking:
        """Let neighbours vote that were found before: the best labels of each query."""
        parts = [
            rank(vote(part, labels, alpha), k)
            for part in vote_blocks(found, labels, self.memory_budget)
        ]
        return parts[0] if len(parts) == 1 else join_rankings(parts)


def vote_blocks(found: Neighbours, labels: LabelRows, memory_budget: int) -> list[Neighbours]:
    """Cut neighbours into runs of queries whose votes fit the memory."""
    n_queries, places = found.ids.shape
    most_labels = int((labels.indptr[1:] - labels.indptr[:-1]).max()) if labels.n_rows else 0
    step = max(1, memory_budget // (_BALLOT_BYTES * max(1, places * most_labels)))
    starts = range(0, max(n_queries, 1), step)
    return [Neighbours(found.ids[s : s + step], found.sims[s : s + step]) for s in starts]


def join_rankings(parts: list[Ranking]) -> Ranking:
    """Put the rankings of successive runs of queries together."""
    from array_api_compat import array_namespace

    xp = array_namespace(parts[0].labels)
    return Ranking(xp.concat([p.labels for p in parts]), xp.concat([p.scores for p in parts]))
