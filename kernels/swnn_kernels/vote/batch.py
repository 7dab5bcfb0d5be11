"""Votes of neighbours that were found before: for many settings after one search."""

from __future__ import annotations

import numpy as np

from swnn_kernels._numba import kernel, struct_view, table
from swnn_kernels.checks import check_k, check_voters
from swnn_kernels.scales import VOTE_SCALE
from swnn_kernels.vote.labels import Labels
from swnn_kernels.vote.votes import VoteBuffers, vote, vote_buffers

_open_labels, _open_buffers = struct_view(Labels), struct_view(VoteBuffers)


def vote_batch(
    labels: Labels, ids: np.ndarray, sims: np.ndarray, alpha: float, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rank labels by the votes of neighbours, weighted by Sim**alpha.

    Parameters
    ----------
    labels : Labels
        Labels of each row.
    ids, sims : arrays of int64 and float64, (n_queries, n_neighbors)
        Neighbours as `search` returns them: best first, missing ones are -1 and 0.
    alpha : float
        Exponent of a vote's weight.
    k : int
        How many labels to return for a query.

    Returns
    -------
    labels, scores : arrays of int64 and float64, (n_queries, k)
        Best first: larger score, then smaller label. Missing labels are -1 and 0.

    Examples
    --------
    >>> labels = Labels.prepare(np.array([0, 1, 3]), np.array([4, 2, 4]))
    >>> found = vote_batch(labels, np.array([[0, 1]]), np.array([[0.5, 0.25]]), 1.0, 2)
    >>> [part.tolist() for part in found]
    [[[4, 2]], [[0.75, 0.25]]]
    """
    k = check_k(k)
    rows = np.ascontiguousarray(ids, dtype=np.int64)
    sims = np.ascontiguousarray(sims, dtype=np.float64)
    if rows.ndim != 2 or rows.shape != sims.shape:
        raise ValueError("ids and sims must be two-dimensional and of one shape")
    if rows.size and not -1 <= rows.min() <= rows.max() < labels.n_rows:
        raise ValueError(f"neighbours must lie in -1..{labels.n_rows - 1}")
    check_voters(rows.shape[1])
    out = np.full((rows.shape[0], k), -1, dtype=np.int64), np.zeros((rows.shape[0], k))
    buffers = vote_buffers(labels.most_voted(rows.shape[1]), k)
    _vote_all(table(labels), table(buffers), rows, sims, float(alpha), *out)
    return out


@kernel
def _vote_all(  # type: ignore[no-untyped-def]
    labels_table, buffers_table, rows, sims, alpha, out_labels, out_scores
):
    """Vote for every query."""
    labels, buffers = _open_labels(labels_table), _open_buffers(buffers_table)
    for q in range(rows.shape[0]):
        found = 0
        while found < rows.shape[1] and rows[q, found] >= 0:
            found += 1
        n_best = vote(labels, buffers, rows[q], sims[q], found, alpha)
        for i in range(n_best):
            out_labels[q, i] = buffers.best_labels[i]
            out_scores[q, i] = buffers.best_sums[i] * (1.0 / VOTE_SCALE)
