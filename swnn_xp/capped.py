"""The capped search by NumPy, and lists of rows that several indexes found, to be merged.

`swnn_kernels.neighbours.capped` says what it does, and what it must return to the last bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.records import Cap
from swnn_xp.results import Neighbours
from swnn_xp.rows.records import QuantisedRows, row_sizes
from swnn_xp.search import padded, similarity


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


class CappedRows:
    """Rows and their postings, for the capped search.

    Parameters
    ----------
    rows : QuantisedRows
        On the host.
    """

    def __init__(self, rows: QuantisedRows) -> None:
        self._rows, self._sizes = rows, row_sizes(rows)
        self._order = np.argsort(rows.indices, kind="stable")  # entries by feature, then by row
        self._of_entry = np.repeat(np.arange(rows.n_rows), self._sizes)
        counts = np.bincount(rows.indices, minlength=rows.n_features)
        self._firsts = np.concatenate([[0], np.cumsum(counts)])

    def shortlist(
        self, queries: QuantisedRows, beta: float, cap: Cap, removed: Any = None
    ) -> Shortlist:
        """Find the rows with the best scores of each query, and their similarities."""
        shape = queries.n_rows, min(cap.n_rescored, self._rows.n_rows)
        found = Shortlist(np.full(shape, -1), np.zeros(shape), np.zeros(shape))
        for q in range(queries.n_rows):
            own = slice(int(queries.indptr[q]), int(queries.indptr[q + 1]))
            features, values = queries.indices[own], queries.quantised[own].astype(np.int64)
            rows, scores = self._best(features, values, cap, shape[1], removed)
            found.ids[q, : rows.size], found.scores[q, : rows.size] = rows, scores
            found.similarities[q, : rows.size] = self._similarities(features, values, rows, beta)
        return found

    def _best(
        self,
        features: NDArray[np.int32],
        values: NDArray[np.int64],
        cap: Cap,
        n_kept: int,
        removed: Any,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The rows with the best scores by the postings of the rarest features."""
        counts = cap.counts[features]
        order = np.lexsort((features, counts))[np.count_nonzero(counts == 0) :]
        taken = np.cumsum(counts[order]) <= cap.postings
        taken[:1] = True
        at = order[taken]
        runs = [np.arange(self._firsts[f], self._firsts[f + 1]) for f in features[at]]
        entries = self._order[np.concatenate([np.zeros(0, np.int64), *runs])]
        weights = np.repeat(values[at], [run.size for run in runs])
        rows, slots = np.unique(self._of_entry[entries], return_inverse=True)
        dots = np.zeros(rows.size, np.int64)
        np.add.at(dots, slots, weights * self._rows.quantised[entries])
        kept = dots > 0
        if removed is not None:
            kept &= ~removed[rows]
        rows, dots = rows[kept], dots[kept]
        best = np.lexsort((rows, -dots))[:n_kept]
        return rows[best], dots[best].astype(np.float64)

    def _similarities(
        self,
        features: NDArray[np.int32],
        values: NDArray[np.int64],
        rows: NDArray[np.int64],
        beta: float,
    ) -> NDArray[np.float64]:
        """Similarities of a query and some rows."""
        firsts, sizes = self._rows.indptr[rows], self._sizes[rows]
        runs = [np.arange(a, a + n) for a, n in zip(firsts, sizes, strict=True)]
        entries = np.concatenate([np.zeros(0, np.int64), *runs])
        owners = np.repeat(np.arange(rows.size), sizes)
        at = np.searchsorted(features, self._rows.indices[entries])
        shared = np.append(features, -1)[at] == self._rows.indices[entries]
        entries, owners, at = entries[shared], owners[shared], at[shared]
        dots = np.zeros(rows.size, np.int64)
        np.add.at(dots, owners, values[at] * self._rows.quantised[entries])
        overlaps = np.bincount(owners, minlength=rows.size).astype(np.float64)
        sizes_of = np.full(rows.size, float(features.size)), sizes.astype(np.float64)
        sims: NDArray[np.float64] = similarity(dots.astype(np.float64), overlaps, *sizes_of, beta)
        return sims
