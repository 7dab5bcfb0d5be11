"""Neighbours vote for their labels with weight ``Sim**alpha``; the best labels win. Array API only.

Weights are integers (``round(w * 2**40)``), so that a label's score does not depend on the order
in which its votes are added. Ties: larger score first, then the smaller label id.

`vote` and `rank` take a few queries; `vote_in_blocks` and `rank_in_blocks` take any number of them,
in blocks whose temporaries fit the memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device

from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.quantise import WEIGHT_SCALE
from swnn_xp.rows.records import Array, LabelRows, longest_row
from swnn_xp.search import power


class Votes(NamedTuple):
    """Labels with a vote, per query ascending: a CSR matrix of exact integer scores."""

    indptr: Array  # int64, (n_queries + 1,)
    labels: Array  # int64
    scores: Array  # int64, true score times 2**40
    totals: Array  # int64, (n_queries,): the weights of all neighbours, added up


def vote(neighbours: Neighbours, labels: LabelRows, alpha: float) -> Votes:
    """Let the neighbours vote.

    Examples
    --------
    >>> import numpy as np
    >>> found = Neighbours(np.asarray([[0.5, 0.25]]), np.asarray([[0, 1]]))
    >>> votes = vote(found, LabelRows(np.asarray([0, 1, 3]), np.asarray([4, 2, 4]), 5), alpha=1.0)
    >>> votes.labels.tolist(), (votes.scores / 2**40).tolist()
    ([2, 4], [0.25, 0.75])
    """
    xp = array_namespace(neighbours.ids)
    n_queries = neighbours.ids.shape[0]
    weights = vote_weights(neighbours, alpha)
    at_query, label, weight = _ballots(xp, neighbours.ids, weights, labels)
    rows = xp.arange(n_queries + 1, dtype=xp.int64, device=device(label))
    totals = xp.sum(weights, axis=1)
    if label.shape[0] == 0:
        return Votes(xp.zeros_like(rows), label, weight, totals)
    order = xp.argsort(at_query * max(labels.n_labels, 1) + label, stable=True)
    at_query, label = xp.take(at_query, order), xp.take(label, order)
    running = _from_zero(xp, xp.take(weight, order))
    last = _last_of_runs(xp, at_query, label)
    ends = xp.nonzero(last)[0] + 1
    summed = xp.take(running, ends)
    scores = summed - xp.concat([xp.zeros_like(summed[:1]), summed[:-1]])
    at_query, label = at_query[last], label[last]
    return Votes(xp.searchsorted(at_query, rows), label, scores, totals)


def vote_weights(neighbours: Neighbours, alpha: float) -> Array:
    """Integer weight of each neighbour; 0 in empty slots."""
    xp = array_namespace(neighbours.ids)
    weights = xp.astype(xp.round(power(neighbours.similarities, alpha) * WEIGHT_SCALE), xp.int64)
    return xp.where(neighbours.ids >= 0, weights, xp.zeros_like(weights))


def join_votes(blocks: list[Votes]) -> Votes:
    """Join the votes of successive blocks of queries.

    Examples
    --------
    >>> import numpy as np
    >>> one = Votes(np.asarray([0, 1]), np.asarray([4]), np.asarray([7]), np.asarray([9]))
    >>> join_votes([one, one]).indptr.tolist()
    [0, 1, 2]
    """
    if len(blocks) == 1:
        return blocks[0]
    xp = array_namespace(blocks[0].labels)
    sizes = xp.concat([block.indptr[1:] - block.indptr[:-1] for block in blocks])
    return Votes(
        _from_zero(xp, sizes),
        xp.concat([block.labels for block in blocks]),
        xp.concat([block.scores for block in blocks]),
        xp.concat([block.totals for block in blocks]),
    )


def vote_scores(votes: Votes) -> Array:
    """Score of each vote as float64."""
    xp = array_namespace(votes.scores)
    return xp.astype(votes.scores, xp.float64) / WEIGHT_SCALE


def vote_shares(votes: Votes) -> Array:
    """Share of the neighbours' weight that each label got: its probability."""
    xp = array_namespace(votes.scores)
    totals = xp.repeat(votes.totals, votes.indptr[1:] - votes.indptr[:-1])
    totals = xp.where(totals > 0, totals, xp.ones_like(totals))  # a total of 0 has scores of 0
    return xp.astype(votes.scores, xp.float64) / xp.astype(totals, xp.float64)


def ranked_shares(ranking: Ranking, neighbours: Neighbours, alpha: float) -> Array:
    """Share of the neighbours' weight that each ranked label got: the same bits as `vote_shares`.

    Examples
    --------
    >>> import numpy as np
    >>> found = Neighbours(np.asarray([[0.5, 0.25]]), np.asarray([[0, 1]]))
    >>> best = Ranking(np.asarray([[4, -1]]), np.asarray([[0.5, 0.0]]))
    >>> ranked_shares(best, found, alpha=1.0).round(3).tolist()
    [[0.667, 0.0]]
    """
    xp = array_namespace(ranking.scores)
    totals = xp.astype(xp.sum(vote_weights(neighbours, alpha), axis=1), xp.float64)[:, None]
    return (ranking.scores * WEIGHT_SCALE) / xp.where(totals > 0, totals, xp.ones_like(totals))


def one_ranked_shares(scores: Any, sims: Any, alpha: float) -> Any:
    """Share of each ranked label of one query, in NumPy: the same bits as `ranked_shares`.

    Examples
    --------
    >>> import numpy as np
    >>> one_ranked_shares(np.asarray([0.5]), np.asarray([0.5, 0.25, 0.0]), 1.0).round(3).tolist()
    [0.667]
    """
    sims = sims[sims > 0]
    weights = sims if alpha == 1.0 else sims * sims if alpha == 2.0 else sims**alpha
    total = int(np.rint(weights * WEIGHT_SCALE).astype(np.int64).sum())
    return (scores * WEIGHT_SCALE) / max(1.0, float(total))


def vote_ones(votes: Votes) -> Array:
    """A 1 for each vote: whether a label was voted for, not by how much."""
    xp = array_namespace(votes.labels)
    return xp.ones(votes.labels.shape, dtype=xp.int8, device=device(votes.labels))


def keep_votes(votes: Votes, kept: Array) -> Votes:
    """Only the marked votes."""
    xp = array_namespace(votes.scores)
    kept_before = _from_zero(xp, xp.astype(kept, xp.int64))
    return Votes(
        xp.take(kept_before, votes.indptr), votes.labels[kept], votes.scores[kept], votes.totals
    )


def rank(votes: Votes, k: int) -> Ranking:
    """Order each query's labels and keep the best ``k``.

    Examples
    --------
    >>> import numpy as np
    >>> votes = Votes(np.asarray([0, 2]), np.asarray([2, 4]), np.asarray([1, 3]), np.asarray([4]))
    >>> rank(votes, 3).labels.tolist()
    [[4, 2, -1]]
    """
    xp = array_namespace(votes.labels)
    dev = device(votes.labels)
    slot = votes.indptr[:-1, None] + xp.arange(k, dtype=xp.int64, device=dev)[None, :]
    filled = slot < votes.indptr[1:, None]
    if votes.labels.shape[0] == 0:
        empty = xp.zeros(slot.shape, dtype=xp.int64, device=dev)
        return Ranking(empty - 1, xp.astype(empty, xp.float64))
    sizes = votes.indptr[1:] - votes.indptr[:-1]
    at_query = xp.repeat(xp.arange(sizes.shape[0], dtype=xp.int64, device=dev), sizes)
    # Labels ascend within a query and both sorts are stable: ties go to the smaller label.
    order = xp.argsort(-votes.scores, stable=True)
    order = xp.take(order, xp.argsort(xp.take(at_query, order), stable=True))
    picked = xp.take(order, xp.reshape(xp.where(filled, slot, xp.zeros_like(slot)), (-1,)))
    labels = xp.reshape(xp.take(votes.labels, picked), slot.shape)
    scores = xp.reshape(xp.take(votes.scores, picked), slot.shape)
    return Ranking(
        xp.where(filled, labels, -xp.ones_like(labels)),
        xp.astype(xp.where(filled, scores, xp.zeros_like(scores)), xp.float64) / WEIGHT_SCALE,
    )


def _ballots(
    xp: Array, ids: Array, weights: Array, labels: LabelRows
) -> tuple[Array, Array, Array]:
    """One entry per (query, neighbour, label of the neighbour): query, label, weight."""
    dev = device(ids)
    queries = xp.broadcast_to(
        xp.arange(ids.shape[0], dtype=xp.int64, device=dev)[:, None], ids.shape
    )
    found = ids >= 0
    ids, queries, weights = ids[found], queries[found], weights[found]
    starts = xp.take(labels.indptr, ids)
    sizes = xp.take(labels.indptr, ids + 1) - starts
    before = _from_zero(xp, sizes)
    voter = xp.repeat(xp.arange(ids.shape[0], dtype=xp.int64, device=dev), sizes)
    within = xp.arange(voter.shape[0], dtype=xp.int64, device=dev) - xp.take(before, voter)
    label = xp.astype(xp.take(labels.indices, xp.take(starts, voter) + within), xp.int64)
    return xp.take(queries, voter), label, xp.take(weights, voter)


def _from_zero(xp: Array, values: Array) -> Array:
    """Running sums, starting with 0: element i is the sum of the first i values.

    They may pass 2**63 and wrap around; a difference of two of them is still right.
    """
    return xp.cumulative_sum(values, dtype=xp.int64, include_initial=True)


def _last_of_runs(xp: Array, *keys: Array) -> Array:
    """Mark the last element of each run of equal keys; there is one element at least."""
    last = xp.ones((1,), dtype=xp.bool, device=device(keys[0]))
    changes = [key[1:] != key[:-1] for key in keys]
    inner = changes[0]
    for change in changes[1:]:
        inner = inner | change
    return xp.concat([inner, last])


_PAIR_BYTES = 120  # temporaries of `vote` and `rank` for one (neighbour, label) pair


def vote_in_blocks(found: Neighbours, labels: LabelRows, alpha: float, memory_budget: int) -> Votes:
    """Let neighbours vote: every label with a vote."""
    blocks = _blocks(found, labels, memory_budget)
    return join_votes([vote(block, labels, alpha) for block in blocks])


def rank_in_blocks(
    found: Neighbours, labels: LabelRows, alpha: float, k: int, memory_budget: int
) -> Ranking:
    """Let neighbours vote: the best ``k`` labels of each query.

    Examples
    --------
    >>> import numpy as np
    >>> found = Neighbours(np.asarray([[0.5, 0.25]]), np.asarray([[0, 1]]))
    >>> labels = LabelRows(np.asarray([0, 1, 3]), np.asarray([4, 2, 4]), 5)
    >>> rank_in_blocks(found, labels, alpha=1.0, k=2, memory_budget=10**6).labels.tolist()
    [[4, 2]]
    """
    blocks = _blocks(found, labels, memory_budget)
    return join_rankings([rank(vote(block, labels, alpha), k) for block in blocks])


def join_rankings(blocks: list[Ranking]) -> Ranking:
    """Join the rankings of successive blocks of queries."""
    if len(blocks) == 1:
        return blocks[0]
    xp = array_namespace(blocks[0].labels)
    labels, scores = (xp.concat(list(arrays)) for arrays in zip(*blocks, strict=True))
    return Ranking(labels, scores)


def _blocks(found: Neighbours, labels: LabelRows, memory_budget: int) -> list[Neighbours]:
    n_queries, n_slots = found.ids.shape
    most_pairs = max(1, n_slots * longest_row(labels))
    step = max(1, memory_budget // (_PAIR_BYTES * most_pairs))
    starts = range(0, max(n_queries, 1), step)
    runs = [(start, min(start + step, n_queries)) for start in starts]
    return [Neighbours(found.similarities[a:b, :], found.ids[a:b, :]) for a, b in runs]
