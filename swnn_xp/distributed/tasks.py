"""What workers do with a block of queries: search, merge, look labels up, vote."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swnn_xp.distributed.shards import Shard
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.records import LabelRows
from swnn_xp.vote.blocks import rank_in_blocks


class KnownLabels(NamedTuple):
    """Labels of some rows: ``labels`` has those of the row ``ids[i]`` at place i."""

    ids: Any
    labels: LabelRows


def search_shard(shard: Shard, X: Any, n_neighbors: int) -> Neighbours:
    """Find a shard's best rows for each query."""
    found = shard.clf.kneighbors(X, n_neighbors)
    return Neighbours(np.where(found.ids >= 0, found.ids + shard.first, -1), found.sims)


def labels_of_winners(shard: Shard, found: Neighbours) -> KnownLabels:
    """Look up the labels of those rows that are the shard's."""
    model = shard.clf._model
    ids = np.unique(found.ids) - shard.first
    ids = ids[(ids >= 0) & (ids < model.next_id)]
    return KnownLabels(ids + shard.first, _labels_at(model.checked_labels, model.positions_of(ids)))


def vote_of_winners(
    found: Neighbours, known: list[KnownLabels], alpha: float, k: int, memory_budget: int
) -> Ranking:
    """Count the votes of rows whose labels the shards have looked up, the first shard first."""
    ids = np.concatenate([some.ids for some in known])
    # Votes are summed by label, so numbering the rows anew changes nothing.
    places = np.where(found.ids >= 0, np.searchsorted(ids, found.ids), -1)
    labels = _joined([some.labels for some in known])
    return rank_in_blocks(Neighbours(places, found.sims), labels, alpha, k, memory_budget)


def rank_by_shard(shard: Shard, X: Any, k: int) -> Ranking:
    """Rank labels where one shard has all the rows: its backend may do it in one go."""
    return Ranking(*shard.clf.predict_topk(X, k))


def same(block: Any) -> Any:
    """Hand a block on: as a task's result it can be made again when the worker that has it dies."""
    return block


def _labels_at(labels: LabelRows, places: Any) -> LabelRows:
    starts = labels.indptr[places]
    sizes = labels.indptr[places + 1] - starts
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    entries = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], sizes)
    return LabelRows(indptr, labels.indices[entries], labels.n_labels)


def _joined(parts: list[LabelRows]) -> LabelRows:
    ends = np.cumsum([0, *(part.indices.size for part in parts)])
    starts = [part.indptr[1:] + end for part, end in zip(parts, ends, strict=False)]
    return LabelRows(
        np.concatenate([np.zeros(1, np.int64), *starts]),
        np.concatenate([part.indices for part in parts]),
        max(part.n_labels for part in parts),
    )
