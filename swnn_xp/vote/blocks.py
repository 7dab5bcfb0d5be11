"""Votes and rankings of many queries, in blocks whose temporaries fit the memory."""

from __future__ import annotations

from array_api_compat import array_namespace

from swnn_xp.results import Neighbours, Ranking
from swnn_xp.rows.records import LabelRows
from swnn_xp.rows.slicing import longest_row
from swnn_xp.vote.votes import Votes, join_votes, rank, vote

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
