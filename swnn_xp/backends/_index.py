"""What a backend is: an index over training rows that finds neighbours and ranks labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from swnn_xp.backends._placement import Placement
from swnn_xp.backends.settings import DEFAULT_OPTIONS, Options, Settings
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.records import Array, QuantisedRows
from swnn_xp.rows.untrusted import untrusted_rows
from swnn_xp.vote.blocks import rank_in_blocks, vote_in_blocks
from swnn_xp.vote.votes import Votes

if TYPE_CHECKING:  # the kernels need numba, which this module does not
    from swnn_kernels.learn.candidates import Selection
    from swnn_kernels.learn.scorer import Ranker, Scorer


class LearnedRanker(Protocol):
    """What ranks candidates, for `Index.rank_candidates`."""

    @property
    def selection(self) -> Selection:
        """How neighbours become candidates."""

    @property
    def scorer(self) -> Scorer:
        """The ranker as the kernels take it."""

    def placed_ranker(self, placement: Placement) -> Ranker:
        """The ranker's arrays where a placement is."""


class Index(ABC):
    """Training rows, prepared for search by one backend. It never changes.

    A subclass must `build`, `search` and give its `rows` back, and say how many there are. It is
    stored as its rows, and votes are counted by array-API functions, unless it overrides that.
    Rows are numbered by their position in the index; a `Model` knows their ids.
    """

    backend: ClassVar[str]
    placement: ClassVar[type[Placement]] = Placement
    """Where its arrays live."""
    stored_as: ClassVar[str] = "numpy"
    """Backend whose `from_arrays` takes what `arrays` gives: a model must open where the library
    of a device is not installed."""
    version_1_names: ClassVar[Mapping[str, str]] = {"units": "quantised"}
    """New names of arrays, by those in files of format version 1."""

    @classmethod
    def unusable(cls) -> str | None:
        """Say in one line why the backend can't run on this machine, or None."""
        return None

    @classmethod
    @abstractmethod
    def build(cls, rows: QuantisedRows, placement: Placement) -> Index:
        """Prepare an index over rows that are on the host or where the placement is."""

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
        self,
        queries: QuantisedRows,
        n_neighbors: int,
        beta: float,
        removed: Array | None = None,
        options: Options = DEFAULT_OPTIONS,
    ) -> Neighbours:
        """Find the best rows of each query, by position; never one that is marked as removed.

        Queries and marks are where the placement is, and so is the answer.
        """

    @abstractmethod
    def rows(self) -> QuantisedRows:
        """Return the rows that the index was built from, on the host."""

    def arrays(self) -> dict[str, Any]:
        """Return the NumPy arrays that a store keeps; by default those of the rows."""
        rows = self.rows()
        return {"indptr": rows.indptr, "indices": rows.indices, "quantised": rows.quantised}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], n_features: int, placement: Placement) -> Index:
        """Make the index out of `arrays`, which come from a file and are not trusted."""
        return cls.build(untrusted_rows(arrays, n_features), placement)

    def check(self) -> None:
        """Raise ValueError unless all arrays fit together."""
        untrusted_rows(self.arrays(), self.n_features)

    def shared(self, position: int, features: Any) -> tuple[Any, Any]:
        """Find which of the ascending features a row has.

        Returns their indices in ``features`` and the row's quantised values.
        """
        rows = self.rows()
        start, stop = int(rows.indptr[position]), int(rows.indptr[position + 1])
        _, at, within = np.intersect1d(
            features, rows.indices[start:stop], assume_unique=True, return_indices=True
        )
        return at, rows.quantised[start:stop][within]

    def rank(
        self,
        queries: QuantisedRows,
        labels: Any,
        settings: Settings,
        k: int,
        removed: Array | None = None,
        options: Options = DEFAULT_OPTIONS,
    ) -> Ranking:
        """Find neighbours and let them vote: the best labels of each query."""
        found = self.search(queries, settings.n_neighbors, settings.beta, removed, options)
        return self.rank_found(found, labels, settings.alpha, k, options)

    def rank_found(
        self, found: Neighbours, labels: Any, alpha: float, k: int, options: Options
    ) -> Ranking:
        """Let neighbours vote that were found before: the best labels of each query.

        ``labels`` is what the placement's `labels` has made of all label rows.
        """
        return rank_in_blocks(found, labels, alpha, k, options.memory_budget)

    def vote_found(self, found: Neighbours, labels: Any, alpha: float, options: Options) -> Votes:
        """Let neighbours vote that were found before: every label with a vote."""
        return vote_in_blocks(found, labels, alpha, options.memory_budget)

    def rank_candidates(
        self,
        found: Neighbours,
        labels: Any,
        queries: QuantisedRows,
        learned: LearnedRanker,
        k: int,
        options: Options,
    ) -> Ranking | None:
        """Rank the candidates of neighbours that were found before, by kernels of the backend.

        Returns None where it has none: array-API functions do it then. ``queries`` are not scaled
        by feature weights.
        """
        return None
