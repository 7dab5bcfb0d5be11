"""Learned ranking by the CUDA kernels of `swnn_kernels.cuda`: candidates, then their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import cupy

from swnn_xp.backends._cuda_kernels import launch, rank_capacity
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.records import Array, LabelRows, QuantisedRows

if TYPE_CHECKING:  # they need numba, which this module does not
    from swnn_kernels.learn.candidates import Selection
    from swnn_kernels.learn.scorer import Ranker


class Candidates(NamedTuple):
    """Labels in any order, and their votes at each cut."""

    labels: Array  # int32, (n_queries, K), -1 where there is none
    votes: Array  # uint64, (n_queries, K, n_cuts)
    totals: Array  # uint64, (n_queries, n_cuts): the votes of all neighbours


def find_candidates(
    found: Neighbours, labels: LabelRows, most_labels: int, selection: Selection
) -> Candidates:
    """Let the neighbours of some queries vote; no row has more than `most_labels` labels."""
    n_queries, n_neighbors = found.ids.shape
    capacity = rank_capacity(labels, n_neighbors, most_labels)
    cuts, places = cupy.asarray(selection.cuts, dtype=cupy.int64), selection.n_candidates
    n_cuts, n_labels = len(selection.cuts), max(1, labels.n_labels)
    made = Candidates(
        cupy.empty((n_queries, places), dtype=cupy.int32),
        cupy.empty((n_queries, places, n_cuts), dtype=cupy.uint64),
        cupy.zeros((n_queries, n_cuts), dtype=cupy.uint64),
    )
    launch(
        "candidates", "find_candidates", (n_queries,),
        found.ids, found.similarities, *labels[:2], cuts,
        cupy.int32(n_neighbors), cupy.int32(n_cuts), cupy.int64(n_labels),
        cupy.int64(capacity), cupy.float64(selection.alpha), cupy.int32(places),
        cupy.zeros((n_queries, n_labels), dtype=cupy.int32),
        cupy.empty((n_queries, capacity), dtype=cupy.int32),
        cupy.empty((n_queries, capacity, n_cuts), dtype=cupy.uint64),
        cupy.empty((n_queries, capacity), dtype=cupy.uint64),
        cupy.empty((n_queries, places), dtype=cupy.uint64),
        *made,
    )  # fmt: skip
    return made


def score_candidates(
    candidates: Candidates, queries: QuantisedRows, ranker: Ranker, k: int
) -> Ranking:
    """Score the candidates of some queries: the best ``k``."""
    n_queries, places, n_cuts = candidates.votes.shape
    best = (
        cupy.empty((n_queries, k), dtype=cupy.int64),
        cupy.empty((n_queries, k), dtype=cupy.float64),
    )
    launch(
        "scores", "score_candidates", (n_queries,),
        *candidates, *queries[:3], *ranker[:6], cupy.int32(places), cupy.int32(n_cuts),
        cupy.int64(ranker.modelled.shape[0]), cupy.int64(queries.n_features),
        cupy.int32(ranker.shift), cupy.int32(k),
        cupy.zeros((n_queries, max(1, queries.n_features)), dtype=cupy.int32),
        cupy.zeros((n_queries, places), dtype=cupy.uint64),
        cupy.empty((n_queries, k), dtype=cupy.uint64),
        cupy.empty((n_queries, k), dtype=cupy.int32),
        *best,
    )  # fmt: skip
    return Ranking(*best)


def ranking_bytes(
    labels: LabelRows, n_neighbors: int, most_labels: int, n_features: int, selection: Selection
) -> int:
    """Device memory that one query takes, without its results."""
    capacity, n_cuts = rank_capacity(labels, n_neighbors, most_labels), len(selection.cuts)
    voting = 4 * labels.n_labels + (12 + 8 * n_cuts) * capacity
    candidates = (20 + 8 * n_cuts) * selection.n_candidates
    return voting + candidates + 4 * n_features + 8 * n_cuts
