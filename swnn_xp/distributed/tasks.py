"""What workers do with a block of queries: search, merge, look up labels, vote."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swnn_xp.distributed.shards import Shard
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.records import LabelRows
from swnn_xp.vote.blocks import rank_in_blocks


class KnownLabels(NamedTuple):
    """Labels of some rows: those of row ``ids[i]`` are at position i of ``labels``."""

    ids: Any
    labels: LabelRows


def search_shard(shard: Shard, X: Any, n_neighbors: int) -> Neighbours:
    """Find a shard's best rows for each query."""
    found = shard.clf.kneighbors(X, n_neighbors)
    return Neighbours(np.where(found.ids >= 0, found.ids + shard.first, -1), found.sims)


def labels_of_winners(shard: Shard, found: Neighbours) -> KnownLabels:
    """Look up the labels of the shard's own rows among the winners."""
    model = shard.clf._model
    ids = np.unique(found.ids) - shard.first
    ids = ids[(ids >= 0) & (ids < model.next_id)]
    return KnownLabels(ids + shard.first, _labels_at(model.checked_labels, model.positions_of(ids)))


def vote_of_winners(
    found: Neighbours, known: list[KnownLabels], alpha: float, k: int, memory_budget: int
) -> Ranking:
    """Count the votes of rows whose labels the shards have looked up, in the shards' order."""
    ids = np.concatenate([some.ids for some in known])
    # Votes are summed by label, so renumbering the rows changes nothing.
    positions = np.where(found.ids >= 0, np.searchsorted(ids, found.ids), -1)
    labels = _joined([some.labels for some in known])
    return rank_in_blocks(Neighbours(positions, found.sims), labels, alpha, k, memory_budget)


def rank_by_shard(shard: Shard, X: Any, k: int) -> Ranking:
    """Rank labels where one shard has all rows: its backend may do it in one step."""
    return Ranking(*shard.clf.predict_topk(X, k))


def same(block: Any) -> Any:
    """Return a block: as a task's result, it can be made again when its worker dies."""
    return block


def _labels_at(labels: LabelRows, positions: Any) -> LabelRows:
    starts = labels.indptr[positions]
    sizes = labels.indptr[positions + 1] - starts
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    entries = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], sizes)
    return LabelRows(indptr, labels.indices[entries], labels.n_labels)


def _joined(runs: list[LabelRows]) -> LabelRows:
    ends = np.cumsum([0, *(run.indices.size for run in runs)])
    starts = [run.indptr[1:] + end for run, end in zip(runs, ends, strict=False)]
    return LabelRows(
        np.concatenate([np.zeros(1, np.int64), *starts]),
        np.concatenate([run.indices for run in runs]),
        max(run.n_labels for run in runs),
    )
