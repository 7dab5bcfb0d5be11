"""What a backend is: an index over training rows that finds neighbours and ranks labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace

from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.canonical import canonical_rows, to_csr
from swnn_xp.rows.input_kind import kind_of
from swnn_xp.rows.quantise import quantise_rows
from swnn_xp.rows.records import Array, LabelRows, QuantisedRows
from swnn_xp.rows.untrusted import opened_rows
from swnn_xp.vote.votes import Votes, join_votes, rank, vote

_BALLOT_BYTES = 120  # temporaries of `vote` and `rank` for one (neighbour, label) pair


class Index(ABC):
    """Training rows, prepared for search by one backend.

    A subclass finds neighbours. All else has a default for backends that work on the host; those
    that work elsewhere start from `DeviceIndex`.
    """

    backend: ClassVar[str]
    memory_budget: int

    @property
    def kind(self) -> type[Index]:
        """The class that builds more of its kind."""
        return type(self)

    @property
    def stored_as(self) -> str:
        """Backend whose `from_arrays` takes what `arrays` gives."""
        return self.backend

    @classmethod
    def unusable(cls) -> str | None:
        """Tell in one line why the backend can't run on this machine, or None."""
        return None

    @classmethod
    def prepare(cls, X: Any, name: str, device: Any = None) -> QuantisedRows:
        """Turn a matrix into canonical unit rows, where the backend works."""
        if device not in (None, "cpu"):
            raise ValueError(f"backend {cls.backend!r} runs on the CPU, not on device {device!r}")
        if (kind := kind_of(X)) in ("cupy", "torch"):
            raise ValueError(
                f"{name} is a {kind} array and backend {cls.backend!r} takes NumPy and SciPy; "
                f"backend={kind!r} takes it as it is"
            )
        return quantise_rows(canonical_rows(X, name))

    @classmethod
    @abstractmethod
    def build(
        cls, rows: QuantisedRows, *, memory_budget: int, n_jobs: int = 1, device: Any = None
    ) -> Index:
        """Prepare an index over rows that are on the host or where `prepare` has put them."""

    def rebuild(self, rows: QuantisedRows, **options: Any) -> Index:
        """Make an index of the same kind over rows from the host, where this one is."""
        return self.build(rows, **options)

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
        self, queries: QuantisedRows, n_neighbors: int, beta: float, removed: Array | None = None
    ) -> Neighbours:
        """Find the best rows of each query, never one that is marked in ``removed``."""

    @abstractmethod
    def rows(self) -> QuantisedRows:
        """Return the rows that the index was built from, on the host."""

    @abstractmethod
    def arrays(self) -> dict[str, Any]:
        """Return the NumPy arrays that make up the index, for a store."""

    @classmethod
    @abstractmethod
    def from_arrays(
        cls,
        arrays: dict[str, Any],
        n_features: int,
        *,
        memory_budget: int,
        n_jobs: int = 1,
        device: Any = None,
    ) -> Index:
        """Make the index again out of ``arrays()``, without copying them on the host."""

    def check(self) -> None:
        """Raise ValueError unless all arrays fit together."""
        opened_rows(self.rows()._asdict(), self.n_features)

    def queries(self, X: Any) -> QuantisedRows:
        """Turn a matrix of queries into canonical unit rows, where the index is."""
        return self.prepare(X, "X")

    def upload(self, array: Any) -> Array:
        """Bring an array from the host to where the index is."""
        return array

    def place(self, labels: LabelRows) -> LabelRows:
        """Bring label rows from the host to where the index is."""
        return labels

    def like(self, X: Any, *arrays: Array) -> tuple[Array, ...]:
        """Return arrays of the kind that X is."""
        return arrays

    def matrix(self, X: Any, indptr: Array, columns: Array, values: Array, width: int) -> Any:
        """Make a sparse matrix of the kind that X is."""
        return to_csr(indptr, columns, values, (int(indptr.shape[0]) - 1, width))

    def shared(self, row: int, features: Any) -> tuple[Any, Any]:
        """Find which of the ascending features the row has: positions and quantised values."""
        rows = self.rows()
        start, stop = int(rows.indptr[row]), int(rows.indptr[row + 1])
        _, positions, at = np.intersect1d(
            features, rows.indices[start:stop], assume_unique=True, return_indices=True
        )
        return positions, rows.quantised[start:stop][at]

    def vote(
        self,
        queries: QuantisedRows,
        labels: LabelRows,
        n_neighbors: int,
        alpha: float,
        beta: float,
        removed: Array | None = None,
    ) -> Votes:
        """Find neighbours and let them vote: every label with a vote."""
        found, labels = self.search(queries, n_neighbors, beta, removed), self.place(labels)
        blocks = vote_blocks(found, labels, self.memory_budget)
        return join_votes([vote(part, labels, alpha) for part in blocks])

    def rank(
        self,
        queries: QuantisedRows,
        labels: LabelRows,
        n_neighbors: int,
        alpha: float,
        beta: float,
        k: int,
        removed: Array | None = None,
    ) -> Ranking:
        """Find neighbours and let them vote: the best labels of each query."""
        return self.rank_found(self.search(queries, n_neighbors, beta, removed), labels, alpha, k)

    def rank_found(self, found: Neighbours, labels: LabelRows, alpha: float, k: int) -> Ranking:
        """Let neighbours vote that were found before: the best labels of each query."""
        labels = self.place(labels)
        blocks = vote_blocks(found, labels, self.memory_budget)
        return join_rankings([rank(vote(part, labels, alpha), k) for part in blocks])


def vote_blocks(found: Neighbours, labels: LabelRows, memory_budget: int) -> list[Neighbours]:
    """Cut neighbours into runs of queries whose votes fit the memory."""
    n_queries, places = found.ids.shape
    step = max(1, memory_budget // (_BALLOT_BYTES * max(1, places * most_labels(labels))))
    starts = range(0, max(n_queries, 1), step)
    runs = [(start, min(start + step, n_queries)) for start in starts]
    return [Neighbours(found.ids[a:b, :], found.sims[a:b, :]) for a, b in runs]


def most_labels(labels: LabelRows) -> int:
    """Labels of the row that has the most."""
    if not labels.n_rows:
        return 0
    xp = array_namespace(labels.indptr)
    return int(xp.max(labels.indptr[1:] - labels.indptr[:-1]))


def join_rankings(parts: list[Ranking]) -> Ranking:
    """Put the rankings of successive runs of queries together."""
    if len(parts) == 1:
        return parts[0]
    xp = array_namespace(parts[0].labels)
    return Ranking(xp.concat([p.labels for p in parts]), xp.concat([p.scores for p in parts]))
