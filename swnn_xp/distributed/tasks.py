"""What workers do with a block of queries: search, merge, look up labels, vote."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from swnn_xp.backends import Settings
from swnn_xp.distributed.shards import Shard
from swnn_xp.loading import is_ranked
from swnn_xp.results import Neighbours, RankedProbabilities
from swnn_xp.rows.records import LabelRows, QuantisedRows, stack_rows, take_rows
from swnn_xp.search import shifted
from swnn_xp.vote import rank_in_blocks, ranked_shares


class KnownLabels(NamedTuple):
    """Labels of some rows: those of row ``ids[i]`` are at position i of ``labels``."""

    ids: Any
    labels: LabelRows


def search_shard(shard: Shard, X: Any, n_neighbors: int, beta: float) -> Neighbours:
    """Find a shard's best rows for each query: of a matrix, or of quantised rows."""
    model, options = shard.clf.current_model(), shard.clf.options
    quantised = isinstance(X, QuantisedRows)
    queries = model.placement.rows(X) if quantised else model.queries(X).scaled
    found = model.with_ids(model.search(queries, n_neighbors, beta, options))
    kind = X.quantised if quantised else X
    return shifted(Neighbours(*model.placement.as_input_kind(kind, *found)), shard.first)


def labels_of_winners(shard: Shard, found: Neighbours) -> KnownLabels:
    """Look up the labels of the shard's own rows among the winners."""
    model = shard.clf.model_
    ids = np.unique(found.ids) - shard.first
    ids = ids[(ids >= 0) & (ids < model.next_id)]
    return KnownLabels(ids + shard.first, take_rows(model.checked_labels, model.positions_of(ids)))


def vote_of_winners(
    found: Neighbours, known: list[KnownLabels], alpha: float, k: int, memory_budget: int
) -> RankedProbabilities:
    """Count the votes of rows whose labels the shards have looked up, in the shards' order."""
    best = rank_in_blocks(*_winners(found, known), alpha, k, memory_budget)
    return RankedProbabilities(*best, ranked_shares(best, found, alpha))


def rank_of_winners(
    ranker: Shard, X: Any, found: Neighbours, known: list[KnownLabels], k: int
) -> RankedProbabilities:
    """Rank the candidates of rows whose labels the shards have looked up."""
    found, labels = _winners(found, known)
    clf = ranker.clf
    model = replace(clf.current_model(), labels=labels)
    placed = Neighbours(*map(model.placement.to_device, found))
    best = model.ranking.rank_found(model, model.queries(X), placed, k, clf.options)
    likely = model.ranking.probabilities(best, placed)
    return RankedProbabilities(*model.placement.as_input_kind(X, *best, likely))


def _winners(found: Neighbours, known: list[KnownLabels]) -> tuple[Neighbours, LabelRows]:
    """Number the winners by their labels' rows: votes are summed by label, so nothing changes."""
    ids = np.concatenate([some.ids for some in known])
    positions = np.where(found.ids >= 0, np.searchsorted(ids, found.ids), -1)
    return Neighbours(found.similarities, positions), stack_rows([some.labels for some in known])


def rank_by_shard(shard: Shard, X: Any, settings: Settings, k: int) -> RankedProbabilities:
    """Rank labels where one shard has all rows."""
    clf = shard.clf
    if not is_ranked(clf):  # a ranker has the settings of its training
        clf = copy(clf).set_params(**settings._asdict())
    return clf.topk_probabilities(X, k)


def same(block: Any) -> Any:
    """Return a block: as a task's result, it can be made again when its worker dies."""
    return block
