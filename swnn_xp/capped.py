"""Rows that the capped search found in several indexes, to be merged.

Every backend searches within a cap by `swnn_kernels.neighbours.capped`, on the host.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_xp.results import Neighbours
from swnn_xp.search import padded


class Shortlist(NamedTuple):
    """The rows whose similarity the capped search computes, in no order; empty slots hold id -1."""

    ids: NDArray[np.int64]
    """(n_queries, n_rescored) or narrower."""
    similarities: NDArray[np.float64]
    scores: NDArray[np.float64]
    """Dots by which they were chosen, positive; 0 in empty slots."""


def merge_shortlists(first: Shortlist, second: Shortlist, n_rescored: int) -> Shortlist:
    """The best rows of two lists over different rows.

    Examples
    --------
    >>> one = Shortlist(np.asarray([[3]]), np.asarray([[0.9]]), np.asarray([[0.2]]))
    >>> other = Shortlist(np.asarray([[7]]), np.asarray([[0.1]]), np.asarray([[0.4]]))
    >>> merge_shortlists(one, other, 1).ids.tolist()
    [[7]]
    """
    both = [np.concatenate(parts, axis=1) for parts in zip(first, second, strict=True)]
    kept = np.lexsort((both[0], -both[2]), axis=1)[:, :n_rescored]
    return Shortlist(*(np.take_along_axis(part, kept, axis=1) for part in both))


def best_of(found: Shortlist, n_neighbors: int) -> Neighbours:
    """The most similar of the rows.

    Examples
    --------
    >>> found = Shortlist(np.asarray([[3, 7]]), np.asarray([[0.1, 0.9]]), np.asarray([[0.4, 0.2]]))
    >>> best_of(found, 1).ids.tolist()
    [[7]]
    """
    order = np.lexsort((found.ids, -found.similarities), axis=1)[:, :n_neighbors]
    ids, sims = (np.take_along_axis(part, order, axis=1) for part in found[:2])
    there = sims > 0
    return padded(Neighbours(np.where(there, sims, 0.0), np.where(there, ids, -1)), n_neighbors)


def shifted_shortlist(found: Shortlist, by: int) -> Shortlist:
    """The same rows, numbered from the first one that was searched."""
    return found._replace(ids=np.where(found.ids >= 0, found.ids + by, -1))
