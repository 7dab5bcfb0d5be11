"""A fitted model at one moment, and how the next one is made from it.

A `Model` never changes: appending, removing and compacting give a new one, so that a reader who
holds one sees a consistent state, whatever other threads do.

Rows have a *place* (their position in the index) and an *id* (what users see). They differ once
rows have been removed and the model compacted. Both ascend together, so ties break alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from swnn_xp.backends import Index
from swnn_xp.model.segments import SegmentedIndex, appended
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.records import LabelRows, QuantisedRows
from swnn_xp.rows.untrusted import check_range
from swnn_xp.vote.votes import Votes


@dataclass(frozen=True)
class Model:
    """Training rows, their labels, and which of them still count."""

    index: Index
    labels: LabelRows
    next_id: int
    row_ids: NDArray[np.int64] | None = None
    """Id of each place; None while they are the same."""
    removed: NDArray[np.bool_] | None = None
    """Places that were removed; None if there are none."""
    names: Mapping[str, list[str]] = field(default_factory=dict)
    """``feature_names``, ``label_names``, ``row_names``: those that are known."""
    version: int = 0
    opened: bool = False
    """Whether the labels came from a file: their ids are checked before they first vote."""

    @cached_property
    def voting_labels(self) -> LabelRows:
        """The labels, once their ids are known to be in range."""
        if self.opened:
            check_range("labels_indices", self.labels.indices, 0, self.labels.n_labels - 1)
        return self.labels

    def check(self) -> None:
        """Look at everything; ValueError if the arrays do not fit together."""
        self.index.check()
        _ = self.voting_labels

    @property
    def n_alive(self) -> int:
        """Number of rows that count."""
        return self.index.n_rows - (0 if self.removed is None else int(self.removed.sum()))

    def search(self, queries: QuantisedRows, n_neighbors: int, beta: float) -> Neighbours:
        """Find neighbours by place."""
        return self.index.search(queries, n_neighbors, beta, self.removed)

    def rank(
        self, queries: QuantisedRows, n_neighbors: int, alpha: float, beta: float, k: int
    ) -> Ranking:
        """Rank labels."""
        voters = self.voters(n_neighbors)
        return self.index.rank(queries, self.voting_labels, voters, alpha, beta, k, self.removed)

    def vote(self, queries: QuantisedRows, n_neighbors: int, alpha: float, beta: float) -> Votes:
        """Let neighbours vote: every label with a vote."""
        voters = self.voters(n_neighbors)
        return self.index.vote(queries, self.voting_labels, voters, alpha, beta, self.removed)

    def voters(self, n_neighbors: int) -> int:
        """As many places as can be filled: S may be far beyond the number of rows."""
        return max(1, min(n_neighbors, self.index.n_rows))

    def with_ids(self, found: Neighbours) -> Neighbours:
        """Turn places into ids."""
        if self.row_ids is None:
            return found
        known = self.index.upload(np.append(self.row_ids, -1))  # place -1: there is none
        return Neighbours(known[found.ids], found.sims)

    def id_of(self, place: int) -> int:
        """Id of the row at a place."""
        return place if self.row_ids is None else int(self.row_ids[place])

    def places_of(self, ids: ArrayLike) -> NDArray[np.int64]:
        """Places of rows that are there, or a ValueError that names one that is not."""
        wanted = np.unique(np.atleast_1d(np.asarray(ids)))
        if wanted.size and wanted.dtype.kind not in "iu":
            raise ValueError(f"row ids must be whole numbers, got dtype {wanted.dtype}")
        wanted = wanted.astype(np.int64)
        places = wanted if self.row_ids is None else np.searchsorted(self.row_ids, wanted)
        there = (places >= 0) & (places < self.index.n_rows)
        if self.row_ids is not None:
            there[there] = self.row_ids[places[there]] == wanted[there]
        if self.removed is not None:
            there[there] = ~self.removed[places[there]]
        if not there.all():
            raise ValueError(f"there is no row {wanted[~there][0]}")
        return places


def append(
    model: Model,
    rows: QuantisedRows,
    labels: LabelRows,
    names: Mapping[str, list[str]],
    **options: Any,
) -> Model:
    """Add rows behind the others; they get the next ids. The names are those of the new model."""
    fresh = np.arange(model.next_id, model.next_id + rows.n_rows)
    old = model.row_ids
    removed = model.removed
    return replace(
        model,
        index=appended(model.index, rows, **options),
        labels=_stacked(model.labels, labels),
        next_id=model.next_id + rows.n_rows,
        row_ids=None if old is None else np.concatenate([old, fresh]),
        removed=None if removed is None else np.concatenate([removed, np.zeros(rows.n_rows, bool)]),
        names=names,
        version=model.version + 1,
    )


def remove(model: Model, ids: ArrayLike) -> Model:
    """Mark rows as removed."""
    removed = np.zeros(model.index.n_rows, bool) if model.removed is None else model.removed.copy()
    removed[model.places_of(ids)] = True
    return replace(model, removed=removed, version=model.version + 1)


def compact(model: Model, **options: Any) -> Model:
    """Index the remaining rows anew, in one piece; ids stay."""
    if model.removed is None and not isinstance(model.index, SegmentedIndex):
        return model
    alive = np.ones(model.index.n_rows, bool) if model.removed is None else ~model.removed
    ids = np.arange(model.index.n_rows) if model.row_ids is None else model.row_ids
    kept = None if alive.all() and model.row_ids is None else ids[alive]
    return replace(
        model,
        index=model.index.rebuild(_rows_at(model.index.rows(), alive), **options),
        labels=_labels_at(model.labels, alive),
        row_ids=kept,
        removed=None,
        version=model.version + 1,
    )


def _stacked(first: LabelRows, second: LabelRows) -> LabelRows:
    return LabelRows(
        np.concatenate([first.indptr, second.indptr[1:] + first.indptr[-1]]),
        np.concatenate([first.indices, second.indices]),
        max(first.n_labels, second.n_labels),
    )


def _rows_at(rows: QuantisedRows, keep: NDArray[np.bool_]) -> QuantisedRows:
    indptr, entries = _selected(rows.indptr, keep)
    return QuantisedRows(indptr, rows.indices[entries], rows.quantised[entries], rows.n_features)


def _labels_at(labels: LabelRows, keep: NDArray[np.bool_]) -> LabelRows:
    indptr, entries = _selected(labels.indptr, keep)
    return LabelRows(indptr, labels.indices[entries], labels.n_labels)


def _selected(indptr: Any, keep: NDArray[np.bool_]) -> tuple[Any, NDArray[np.bool_]]:
    """Pointers of the kept rows, and which entries are theirs."""
    sizes = np.diff(indptr)
    kept = np.concatenate([[0], np.cumsum(sizes[keep])]).astype(np.int64)
    return kept, np.repeat(keep, sizes)
