"""The numba backend: an adapter around the compiled kernels of `swnn_kernels`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from swnn_kernels import (
    HybridIndex,
    Labels,
    UntrustedIndex,
    available,
    rank,
    search,
    vote_batch,
)
from swnn_kernels.records import Settings
from swnn_xp.backends.index import DEFAULT_OPTIONS, CandidateScorer, Index, Options
from swnn_xp.backends.placement import Placement
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.records import LabelRows, QuantisedRows
from swnn_xp.vote import Votes, vote_in_blocks

if TYPE_CHECKING:
    from swnn_kernels.learn.evidence import Evidence


class KernelLabels(NamedTuple):
    """Label rows, and the same labels checked and prepared for the kernels, once per model."""

    rows: LabelRows
    prepared: Labels


class NumbaPlacement(Placement):
    """The host's memory, with labels as the kernels take them."""

    def labels(self, labels: LabelRows) -> KernelLabels:
        """Prepare label rows for the kernels."""
        return KernelLabels(labels, Labels.prepare(labels.indptr, labels.indices))


class NumbaIndex(Index):
    """Training rows as the kernels' index; search, vote and ranking in one compiled call."""

    backend = "numba"
    placement = NumbaPlacement
    stored_as = "numba"
    cap_saves_time = True

    def __init__(self, kernel_index: HybridIndex) -> None:
        self.kernel_index = kernel_index

    @classmethod
    def unusable(cls) -> str | None:
        """Say in one line why numba can't run the kernels here, or None."""
        return available()

    @classmethod
    def build(cls, rows: QuantisedRows, placement: Placement) -> NumbaIndex:
        """Prepare an index over the rows."""
        return cls(HybridIndex.build(rows))

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, Any], n_features: int, placement: Placement
    ) -> NumbaIndex:
        """Make the index out of `arrays`, which are not trusted, without copying them."""
        return cls(UntrustedIndex.from_arrays(dict(arrays)))

    def __reduce__(self) -> tuple[Any, ...]:
        # Not as it is: the kernels' index remembers addresses, which mean nothing elsewhere.
        return _rebuilt, (type(self), type(self.kernel_index), self.arrays())

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.kernel_index.n_rows

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.kernel_index.n_features

    def rows(self) -> QuantisedRows:
        """Return the rows that the index was built from."""
        return self.kernel_index.rows()

    def arrays(self) -> dict[str, Any]:
        """Return the arrays of the kernels' index."""
        return self.kernel_index.arrays()

    def check(self) -> None:
        """Raise ValueError unless all arrays of the index fit together."""
        self.kernel_index.check()

    def shared_features(self, position: int, features: Any) -> tuple[Any, Any]:
        """Find which of the features a row has: their indices and the row's quantised values."""
        return self.kernel_index.shared_features(position, np.asarray(features))

    def search(
        self,
        queries: QuantisedRows,
        n_neighbors: int,
        beta: float,
        removed: Any = None,
        options: Options = DEFAULT_OPTIONS,
    ) -> Neighbours:
        """Find the best rows of each query, never one that is marked as removed."""
        kernel, n_jobs = self.kernel_index, options.n_jobs
        ids, sims = search(kernel, queries, n_neighbors, beta, removed=removed, n_jobs=n_jobs)
        return Neighbours(sims, ids)

    def rank(
        self,
        queries: QuantisedRows,
        labels: KernelLabels,
        settings: Settings,
        k: int,
        removed: Any = None,
        options: Options = DEFAULT_OPTIONS,
    ) -> Ranking:
        """Find neighbours and let them vote, in one call."""
        kernel, prepared, n_jobs = self.kernel_index, labels.prepared, options.n_jobs
        return Ranking(
            *rank(kernel, prepared, queries, settings, k, removed=removed, n_jobs=n_jobs)
        )

    def rank_found(
        self, found: Neighbours, labels: KernelLabels, alpha: float, k: int, options: Options
    ) -> Ranking:
        """Rank labels by the votes of given neighbours, on one thread: it takes little time."""
        return Ranking(*vote_batch(labels.prepared, found.ids, found.similarities, alpha, k))

    def vote_found(
        self, found: Neighbours, labels: KernelLabels, alpha: float, options: Options
    ) -> Votes:
        """Count the votes of given neighbours: every label with a vote."""
        return vote_in_blocks(found, labels.rows, alpha, options.memory_budget)

    def rank_candidates(
        self,
        found: Neighbours,
        labels: KernelLabels,
        queries: QuantisedRows,
        learned: CandidateScorer,
        evidence: Sequence[Evidence],
        k: int,
        options: Options,
    ) -> Ranking:
        """Rank the candidates of given neighbours."""
        from swnn_kernels.learn.rank import rank_candidates  # only rankers need it

        scorer, selection = learned.scorer, learned.selection
        near = found.ids, found.similarities
        parts = labels.prepared, scorer, selection, queries, near, k, evidence
        best = rank_candidates(*parts, n_jobs=options.n_jobs, pool=learned.buffers)
        return Ranking(*best)


def _rebuilt(
    index_class: type[NumbaIndex], kernel_class: type[HybridIndex], arrays: dict[str, Any]
) -> NumbaIndex:
    return index_class(kernel_class.from_arrays(arrays))
