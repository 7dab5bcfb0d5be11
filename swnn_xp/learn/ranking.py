"""Rank the candidates of queries: by kernels where a backend has them, else by array functions.

Both compute the same integers: a candidate's score is its vote score, one table entry for each cut,
plus the label's bias and, if it has a model, the exact product of its weights and the query.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace, device

from swnn_kernels.learn.candidates import N_BINS, SHARE_SHIFT, Selection
from swnn_kernels.learn.rank import SCORE_BITS
from swnn_kernels.learn.scorer import Ranker
from swnn_xp.backends import Options
from swnn_xp.learn.candidates import knots
from swnn_xp.learn.records import Learned
from swnn_xp.model.model import Model
from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.records import Array, LabelRows, QuantisedRows, longest_row, slice_rows
from swnn_xp.search import in_slots
from swnn_xp.vote import Votes, join_rankings, rank, vote

_VOTE_BYTES = 120  # temporaries of a (neighbour, label) pair
_PAIR_BYTES = 200  # temporaries of a (query, candidate) pair
_WEIGHT_BYTES = 64  # temporaries of one of its label's weights
_NEVER = -(2**62)  # below every score


def rank_found(
    model: Model, queries: QuantisedRows, found: Neighbours, k: int, options: Options
) -> Ranking:
    """Rank labels for queries whose neighbours were found before.

    Parameters
    ----------
    model : Model
        With what was learned.
    queries : QuantisedRows
        Not scaled by feature weights.
    found : Neighbours
        By position, of the scaled queries.
    k : int
    options : Options
    """
    learned: Learned = model.learned
    index, labels, placement = model.segments[0], model.placed_labels, model.placement
    best = index.rank_candidates(found, labels, queries, learned, k, options)
    if best is not None:
        return best

    def rank_block(first: int, last: int) -> Ranking:
        block = Neighbours(found.similarities[first:last, :], found.ids[first:last, :])
        rows = slice_rows(queries, first, last)
        return _rank_block(block, rows, labels, ranker, learned.selection, k)

    with placement.current():
        ranker = learned.placed_ranker(placement)
        most_votes = found.ids.shape[1] * longest_row(labels)
        step = _queries_that_fit(learned, most_votes, options.memory_budget)
        return join_rankings(placement.in_blocks(queries.n_rows, step, rank_block))


def _queries_that_fit(learned: Learned, most_votes: int, memory_budget: int) -> int:
    longest = int(np.diff(learned.checked_ranker.indptr).max(initial=0))
    of_query = learned.selection.n_candidates * (_PAIR_BYTES + _WEIGHT_BYTES * longest)
    of_query += most_votes * _VOTE_BYTES
    return max(1, memory_budget // (of_query + 1))


class _Pairs(NamedTuple):
    """Candidates, (n_queries, K): where their label is -1 there is none."""

    query: Array
    label: Array


def _rank_block(
    found: Neighbours,
    queries: QuantisedRows,
    labels: LabelRows,
    ranker: Ranker,
    selection: Selection,
    k: int,
) -> Ranking:
    """Rank labels with standard array-API functions only."""
    xp = array_namespace(found.ids)
    cuts = [min(cut, found.ids.shape[1]) for cut in selection.cuts]
    votes = [
        vote(Neighbours(found.similarities[:, :cut], found.ids[:, :cut]), labels, selection.alpha)
        for cut in cuts
    ]
    label = rank(votes[-1], selection.n_candidates).labels
    query = xp.arange(label.shape[0], dtype=xp.int64, device=device(label))[:, None]
    pairs = _Pairs(xp.broadcast_to(query, label.shape), label)
    known, safe = _modelled(pairs, ranker)
    score = _vote_scores(pairs, votes, ranker, known, labels.n_labels)
    if ranker.modelled.shape[0] > 0:
        linear = _linear_scores(pairs, safe, queries, ranker) * 2**ranker.shift
        score = score + xp.where(known, linear, xp.zeros_like(linear))
        bias = xp.reshape(xp.take(ranker.biases, xp.reshape(safe, (-1,))), safe.shape)
        score = score + xp.where(safe == label, bias, xp.zeros_like(bias))
    return _best(label, score, k)


def _modelled(pairs: _Pairs, ranker: Ranker) -> tuple[Array, Array]:
    """Which candidates have a label model, and a label id that can be looked up anyway."""
    xp = array_namespace(pairs.label)
    n_labels = ranker.modelled.shape[0]
    if n_labels == 0:
        return pairs.label != pairs.label, pairs.label
    safe = xp.where((pairs.label >= 0) & (pairs.label < n_labels), pairs.label, 0 * pairs.label)
    flags = xp.reshape(xp.take(ranker.modelled, xp.reshape(safe, (-1,))), safe.shape)
    return (flags != 0) & (safe == pairs.label), safe


def _vote_scores(
    pairs: _Pairs, votes: list[Votes], ranker: Ranker, known: Array, n_labels: int
) -> Array:
    """Sum of one table entry for each cut."""
    xp, dev = array_namespace(pairs.label), device(pairs.label)
    ends = xp.asarray(knots(), dtype=xp.float64, device=dev)
    first = xp.astype(known, xp.int64) * (len(votes) * N_BINS)
    total = xp.zeros_like(first)
    for cut, cast in enumerate(votes):
        shares = _shares(pairs, cast, n_labels)
        shares = xp.where(shares > 0, shares, xp.zeros_like(shares))  # as a kernel's bins do
        at = xp.searchsorted(ends, xp.reshape(shares + SHARE_SHIFT, (-1,)), side="right") - 1
        entry = xp.reshape(at, shares.shape) + first + cut * N_BINS
        values = xp.take(ranker.tables, xp.reshape(entry, (-1,)))
        total = total + xp.reshape(values, entry.shape)
    return total


def _shares(pairs: _Pairs, votes: Votes, n_labels: int) -> Array:
    """Share of each candidate in the votes of a cut; 0 where it has none."""
    xp, dev = array_namespace(pairs.label), device(pairs.label)
    numbers = xp.arange(pairs.label.shape[0], dtype=xp.int64, device=dev)
    at_query = xp.repeat(numbers, votes.indptr[1:] - votes.indptr[:-1])
    keys = at_query * n_labels + votes.labels
    found, there = _look_up(keys, pairs.query * n_labels + pairs.label, votes.scores)
    totals = xp.astype(votes.totals, xp.float64)[:, None]
    share = xp.astype(found, xp.float64) / xp.where(totals > 0, totals, xp.ones_like(totals))
    return xp.where(there & (pairs.label >= 0) & (totals > 0), share, xp.zeros_like(share))


def _look_up(keys: Array, wanted: Array, values: Array) -> tuple[Array, Array]:
    """Values at ascending keys, and which of the wanted keys are there."""
    xp = array_namespace(keys)
    if keys.shape[0] == 0:
        return xp.zeros_like(wanted), wanted != wanted
    flat = xp.reshape(wanted, (-1,))
    at = xp.searchsorted(keys, flat)
    at = xp.where(at < keys.shape[0], at, xp.zeros_like(at))
    there = xp.take(keys, at) == flat
    picked = xp.astype(xp.take(values, at), xp.int64)
    picked = xp.where(there, picked, xp.zeros_like(picked))
    return xp.reshape(picked, wanted.shape), xp.reshape(there, wanted.shape)


def _linear_scores(pairs: _Pairs, labels: Array, queries: QuantisedRows, ranker: Ranker) -> Array:
    """Exact products of the labels' weights and the queries, as sums over runs of weights."""
    xp, dev = array_namespace(labels), device(labels)
    flat, width = xp.reshape(labels, (-1,)), max(queries.n_features, 1)
    starts = xp.take(ranker.indptr, flat)
    sizes = xp.take(ranker.indptr, flat + 1) - starts
    before = xp.cumulative_sum(sizes, dtype=xp.int64, include_initial=True)
    pair = xp.repeat(xp.arange(flat.shape[0], dtype=xp.int64, device=dev), sizes)
    entry = xp.arange(pair.shape[0], dtype=xp.int64, device=dev)
    entry = entry - xp.take(before, pair) + xp.take(starts, pair)
    feature = xp.astype(xp.take(ranker.features, entry), xp.int64)
    wanted = xp.take(xp.reshape(pairs.query, (-1,)), pair) * width + feature
    numbers = xp.arange(queries.n_rows, dtype=xp.int64, device=dev)
    at_row = xp.repeat(numbers, queries.indptr[1:] - queries.indptr[:-1])
    keys = at_row * width + xp.astype(queries.indices, xp.int64)
    values, _ = _look_up(keys, wanted, queries.quantised)
    products = values * xp.astype(xp.take(ranker.weights, entry), xp.int64)
    running = xp.cumulative_sum(products, dtype=xp.int64, include_initial=True)
    sums = xp.take(running, before[1:]) - xp.take(running, before[:-1])
    return xp.reshape(sums, labels.shape)


def _best(label: Array, score: Array, k: int) -> Ranking:
    """Order candidates by larger score, then smaller label."""
    xp = array_namespace(label)
    there = label >= 0
    score = xp.where(there, score, xp.zeros_like(score) + _NEVER)
    order = xp.argsort(label, axis=1, stable=True)
    label, score = (xp.take_along_axis(array, order, axis=1) for array in (label, score))
    order = xp.argsort(-score, axis=1, stable=True)[:, : min(k, label.shape[1])]
    label, score = (xp.take_along_axis(array, order, axis=1) for array in (label, score))
    score = xp.where(label >= 0, score, xp.zeros_like(score))
    label, score = in_slots(k, label, score)
    return Ranking(label, xp.astype(score, xp.float64) * 2.0**-SCORE_BITS)
