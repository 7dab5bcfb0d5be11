"""Votes of neighbours that were found before: for many settings over one search."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swnn_kernels.cache import kernel
from swnn_kernels.records import Labels, frozen
from swnn_kernels.vote import vote


class _Table(NamedTuple):
    """The buffers that `vote` needs."""

    keys: np.ndarray  # int64, a power of two
    sums: np.ndarray  # int64
    best_sums: np.ndarray  # int64
    best_labels: np.ndarray  # int64


def vote_found(
    label_indptr: np.ndarray,
    label_indices: np.ndarray,
    ids: np.ndarray,
    sims: np.ndarray,
    alpha: float,
    k: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Rank labels by the votes of neighbours, weighted by Sim**alpha.

    Parameters
    ----------
    label_indptr, label_indices : arrays of int64 and int32
        Labels of each row.
    ids, sims : arrays of int64 and float64, (n_queries, n_neighbors)
        Neighbours as `search` gives them: best first, missing places hold -1 and 0.
    alpha : float
        Exponent of a vote's weight.
    k : int
        How many labels to return for a query.

    Returns
    -------
    labels, scores : arrays of int64 and float64, (n_queries, k)
        Best first: larger score, then smaller label. Missing places hold -1 and 0.

    Examples
    --------
    >>> starts, labels = np.array([0, 1, 3]), np.array([4, 2, 4], np.int32)
    >>> found = np.array([[0, 1]]), np.array([[0.5, 0.25]])
    >>> [part.tolist() for part in vote_found(starts, labels, *found, 1.0, 2)]
    [[[4, 2]], [[0.75, 0.25]]]
    """
    starts = np.ascontiguousarray(label_indptr, dtype=np.int64)
    rows = np.ascontiguousarray(ids, dtype=np.int64)
    if rows.size and not -1 <= rows.min() <= rows.max() < starts.size - 1:
        raise ValueError(f"neighbours must lie in -1..{starts.size - 2}")
    votes = np.where(rows >= 0, starts[rows + 1] - starts[rows], 0).sum(axis=1)
    most = int(votes.max(initial=0))
    slots = 1 << max(1, (2 * most - 1).bit_length())
    table = _Table(*(np.empty(n, np.int64) for n in (slots, slots, min(k, most), min(k, most))))
    out = np.full((rows.shape[0], k), -1, dtype=np.int64), np.zeros((rows.shape[0], k))
    labels = Labels(frozen(starts), frozen(np.ascontiguousarray(label_indices, dtype=np.int32)))
    _vote_all(labels, rows, np.ascontiguousarray(sims), float(alpha), table, *out)
    return out


@kernel
def _vote_all(labels, rows, sims, alpha, table, out_labels, out_scores):  # type: ignore[no-untyped-def]
    for q in range(rows.shape[0]):
        found = 0
        while found < rows.shape[1] and rows[q, found] >= 0:
            found += 1
        held = vote(labels, rows[q], sims[q], found, alpha, table, table.best_sums.size)
        for i in range(held):
            out_labels[q, i] = table.best_labels[i]
            out_scores[q, i] = table.best_sums[i] * 2.0**-40
