"""Ranking a query: candidates, vote score, label models, best k. All integers.

A score is an integer in steps of 2**-38: ``(w.q << shift) + bias + one table entry for each cut``
and for each table of a source. A label without a model has a bias alone, which is 0 unless rare
labels are to come first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from swnn_kernels._numba import Table, inline, kernel, struct_view, table
from swnn_kernels.answer.kernels import load_raw
from swnn_kernels.heap import push, sort_best_first
from swnn_kernels.learn.candidates import (
    N_BINS,
    Selection,
    Tally,
    add_listed,
    bin_of,
    make_tally,
    reset_tally,
    share_at,
    tally_votes,
)
from swnn_kernels.learn.evidence import Evidence, Listed, join_evidence
from swnn_kernels.learn.scorer import (
    LookUps,
    QueryEntries,
    Scorer,
    begin_look_ups,
    end_look_ups,
    is_looked_up,
    linear_score,
    look_up_buffers,
    prefetch_columns,
    prefetch_model,
    prefetch_pointers,
)
from swnn_kernels.parallel import BufferPool, in_parallel
from swnn_kernels.records import (
    Bool,
    Float,
    Float64,
    Int,
    Int32,
    Int64,
    QuantisedRows,
    check_k,
    check_n_jobs,
    check_neighbours,
    frozen,
)
from swnn_kernels.vote import Labels

SCORE_BITS = 38
"""Scores are integers in steps of 2**-38."""
_STEP = 2.0**-SCORE_BITS
_NO_WEIGHTS = frozen(np.zeros(0))
Pair = tuple[np.ndarray, np.ndarray]


class RankBuffers(NamedTuple):
    """Buffers of one thread; between queries ``scattered`` holds zeros."""

    scattered: Int32  # (n_features,)
    best_scores: Int64  # (k,)
    best_labels: Int64  # (k,)
    indices: Int32  # a raw query, quantised
    values: Float64
    quantised: Int32


class RankCall(NamedTuple):
    """Queries, what the ranking needs to answer them, and where answers go."""

    labels: Labels
    tally: Tally
    scorer: Scorer
    buffers: RankBuffers
    look_ups: LookUps
    alpha: float
    listed: Listed
    queries: QuantisedRows
    raw_indptr: Int64  # (2,): pointers of the raw query once it is loaded
    indices: Int64  # the raw query as it came
    values: Float64
    ids: Int64  # neighbours of all queries, one after the other
    sims: Float64
    best_labels: Int64  # answers of all queries
    best_scores: Float64


_open_call = struct_view(RankCall)
_NO_RAW_QUERY = np.zeros(0, np.int64), np.zeros(0)


@inline
def _vote_score(scorer: Scorer, tally: Tally, slot: Int, is_modelled: Bool) -> Int:
    """Part of a candidate's score that neighbours and sources give."""
    n_cuts, n_bins = tally.cuts.size, tally.n_bins
    total, first = np.int64(0), np.int64(is_modelled) * (n_cuts + n_bins) * N_BINS
    for c in range(n_cuts):
        total += scorer.tables[first + c * N_BINS + bin_of(share_at(tally, slot, c))]
    first += n_cuts * N_BINS
    for t in range(n_bins):
        total += scorer.tables[first + t * N_BINS + np.int64(tally.bins[slot * n_bins + t])]
    return total


@inline
def _score_votes(scorer: Scorer, tally: Tally, held: Int, look_ups: LookUps) -> Bool:
    """Fill the parts of the candidates' scores that come from votes and sources, and their labels.

    Meanwhile the pointers to their models are fetched. Returns whether a sparse model is walked.
    """
    is_walked = False
    for i in range(held):
        label = tally.voted[tally.best[i]]
        tally.best_labels[i] = label
        prefetch_pointers(scorer, label)
    for i in range(held):
        label = tally.best_labels[i]
        is_modelled = label < scorer.modelled.size and scorer.modelled[label] != 0
        tally.best_sums[i] = _vote_score(scorer, tally, tally.best[i], is_modelled)
        is_walked |= is_modelled and not is_looked_up(scorer, label, look_ups)
    return is_walked


@inline
def _model_score(scorer: Scorer, label: Int, scattered: Int32, query: LookUps) -> Int:
    """Part of a score from a label's model; labels that came after the training have none."""
    score: Int = np.int64(0)
    if label < scorer.modelled.size:
        score = scorer.biases[label]
        if scorer.modelled[label] != 0:
            score += linear_score(scorer, label, scattered, query) << scorer.shift
    return score


@inline
def _scatter(scattered: Int32, indices: Int32, quantised: Int32, first: Int, last: Int) -> None:
    """Write a query's values over all features."""
    for p in range(first, last):
        scattered[indices[p]] = quantised[p]


@inline
def _clear_scattered(scattered: Int32, indices: Int32, first: Int, last: Int) -> None:
    """Set the entries that `_scatter` has written to zeros again."""
    for p in range(first, last):
        scattered[indices[p]] = 0


@inline
def _rank_one(
    labels: Labels,
    tally: Tally,
    models: tuple[Scorer, LookUps],
    buffers: RankBuffers,
    alpha: Float,
    found: tuple[Int64, Float64],
    query: QueryEntries,
    evidence: tuple[Listed, Int],
) -> Int:
    """Fill the best labels of a query into the buffers; return their number."""
    ids, sims = found
    listed, number = evidence
    scorer, look_ups = models
    indices, quantised, first, last = query
    begin_look_ups(scorer, query, look_ups)
    held, n_voted = tally_votes(labels, ids, sims, (ids, np.int64(-1)), alpha, tally)
    held, n_voted = add_listed(tally, listed, number, held, n_voted)
    ranked, k = 0, buffers.best_scores.size
    is_walked = _score_votes(scorer, tally, held, look_ups)
    if is_walked:
        _scatter(buffers.scattered, indices, quantised, first, last)
    for i in range(held):
        if i + 1 < held:
            prefetch_model(scorer, tally.best_labels[i + 1], look_ups)
        label = tally.best_labels[i]
        score = tally.best_sums[i] + _model_score(scorer, label, buffers.scattered, look_ups)
        ranked = push(buffers.best_scores, buffers.best_labels, ranked, k, score, label)
    sort_best_first(buffers.best_scores, buffers.best_labels, ranked)
    reset_tally(tally, n_voted)
    end_look_ups(scorer, query, look_ups)
    if is_walked:
        _clear_scattered(buffers.scattered, indices, first, last)
    return ranked


@inline
def _write(buffers: RankBuffers, ranked: Int, labels: Int64, scores: Float64) -> None:
    """Copy the best labels into a row of results; missing ones are -1 and 0."""
    for i in range(labels.size):
        labels[i] = buffers.best_labels[i] if i < ranked else -1
        scores[i] = buffers.best_scores[i] * _STEP if i < ranked else 0.0


@kernel
def _rank_found(call_table: Table[RankCall], size: Int) -> None:
    """Rank the labels of canonical queries whose neighbours are known.

    If ``size`` is not -1: those of the raw query of that size, which a search has accepted.
    """
    call = _open_call(call_table)
    buffers, models, queries = call.buffers, (call.scorer, call.look_ups), call.queries
    if size >= 0:
        indices, values = call.indices[:size], call.values[:size]
        prefetch_columns(call.scorer, indices)
        kept = load_raw(buffers, _NO_WEIGHTS, buffers.scattered.size, indices, values)
        call.raw_indptr[0], call.raw_indptr[1] = 0, kept
    n_queries = queries.indptr.size - 1
    for q in range(n_queries):
        query = QueryEntries(
            queries.indices, queries.quantised, queries.indptr[q], queries.indptr[q + 1]
        )
        near, k = call.ids.size // n_queries, call.best_labels.size // n_queries
        found = call.ids[q * near :][:near], call.sims[q * near :][:near]
        evidence = call.listed, np.int64(q)
        ranked = _rank_one(
            call.labels, call.tally, models, buffers, call.alpha, found, query, evidence
        )
        labels, scores = (
            call.best_labels[q * k : (q + 1) * k],
            call.best_scores[q * k : (q + 1) * k],
        )
        _write(buffers, ranked, labels, scores)


class ThreadBuffers:
    """Buffers of one thread, as the tables that kernels open."""

    def __init__(
        self, labels: Labels, scorer: Scorer, selection: Selection, k: int, longest: int
    ) -> None:
        tally: Tally = make_tally(labels, selection)
        ranked = min(k, tally.best_sums.size)
        buffers = RankBuffers(
            np.zeros(scorer.n_features, np.int32),
            np.empty(ranked, np.int64),
            np.empty(ranked, np.int64),
            np.empty(longest, np.int32),
            np.empty(longest),
            np.empty(longest, np.int32),
        )
        look_ups = look_up_buffers(longest, scorer)
        self.labels, self.k, self.longest = labels, k, longest
        records = labels, tally, scorer, buffers, look_ups
        self._constant = *map(table, records), float(selection.alpha)
        indptr = np.zeros(2, np.int64)
        self._loaded = QuantisedRows(indptr, buffers.indices, buffers.quantised, scorer.n_features)

    def bind(
        self,
        queries: QuantisedRows,
        found: Pair,
        listed: Listed,
        out: Pair,
        raw: Pair = _NO_RAW_QUERY,
    ) -> Callable[[int], None]:
        """Bind the ranking of canonical queries, whose neighbours are known, into ``out``.

        The function takes -1.
        """
        flat = (part.reshape(-1) for part in (*found, *out))
        tables = table(listed), table(queries)
        call: Any = *self._constant, *tables, self._loaded.indptr, *raw, *flat
        return partial(_rank_found, table(RankCall(*call)))

    def bind_raw(self, raw: Pair, found: Pair, listed: Listed, out: Pair) -> Callable[[int], None]:
        """Bind the ranking of a raw query: the function takes its size."""
        return self.bind(self._loaded, found, listed, out, raw)


def rank_candidates(
    labels: Labels,
    scorer: Scorer,
    selection: Selection,
    queries: QuantisedRows,
    found: tuple[np.ndarray, np.ndarray],
    k: int,
    evidence: Sequence[Evidence] = (),
    *,
    n_jobs: int = 1,
    pool: BufferPool | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Rank the candidates of queries whose neighbours were found before.

    Parameters
    ----------
    labels : Labels
        Labels of the rows that were searched.
    scorer : Scorer
    selection : Selection
    queries : QuantisedRows
        The queries themselves, not scaled by feature weights.
    found : ids, sims
        Their neighbours, (n_queries, n_neighbors), best first; missing ones are -1 and 0.
    k : int
        How many labels to return for a query.
    evidence : sequence of Evidence
        What each of the selection's sources lists.
    n_jobs : int
        Number of threads.
    pool : BufferPool, optional
        Of this scorer and selection: buffers of the calls before.

    Returns
    -------
    labels, scores : arrays of int64 and float64, (n_queries, k)
        Best first: larger score, then smaller label. Missing labels are -1 and 0.

    Examples
    --------
    >>> from swnn_kernels.learn.scorer import Ranker
    >>> labels = Labels.prepare(np.array([0, 1, 2]), np.array([0, 1]))
    >>> vote = np.zeros(2 * N_BINS, np.int64)
    >>> ranker = Ranker(np.array([0, 0, 1]), np.array([0], np.int32), np.array([2**14], np.int16),
    ...                 np.zeros(2, np.int64), np.array([0, 1], np.uint8), vote, 1)
    >>> queries = QuantisedRows(np.array([0, 1]), np.array([0]), np.array([2**23]), 1)
    >>> found = np.array([[0, 1]]), np.array([[0.5, 0.5]])
    >>> scorer = Scorer.prepare(ranker, 1)
    >>> best = rank_candidates(labels, scorer, Selection((2,), 5, 1.0), queries, found, 2)
    >>> [part.tolist() for part in best]
    [[[1, 0]], [[1.0, 0.0]]]
    """
    k, (ids, sims) = check_k(k), check_neighbours(*found, labels.n_rows)
    queries = queries.prepared()
    if queries.n_features > scorer.n_features:
        raise ValueError(f"queries have {queries.n_features} features, not {scorer.n_features}")
    out = np.empty((queries.n_rows, k), np.int64), np.empty((queries.n_rows, k))

    longest = int(np.diff(queries.indptr).max(initial=0))

    def fits(held: ThreadBuffers) -> bool:
        return held.labels is labels and held.k == k and held.longest >= longest

    def make() -> ThreadBuffers:
        return ThreadBuffers(labels, scorer, selection, k, longest)

    pool = BufferPool() if pool is None else pool

    def answer(first: int, last: int) -> None:
        mine = queries._replace(indptr=queries.indptr[first : last + 1])
        near = ids[first:last], sims[first:last]
        own = [Evidence(*(part[first:last] for part in one)) for one in evidence]
        listed = join_evidence(own, selection.sources, last - first)
        with pool.lend(fits, make) as buffers:
            buffers.bind(mine, near, listed, (out[0][first:last], out[1][first:last]))(-1)

    in_parallel(answer, queries.n_rows, check_n_jobs(n_jobs))
    return out
