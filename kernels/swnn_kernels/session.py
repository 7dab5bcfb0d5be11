"""One query at a time, as fast as it goes: every buffer is allocated beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np

from swnn_kernels import query
from swnn_kernels.index import InvertedIndex
from swnn_kernels.methods import is_pruned, room_for
from swnn_kernels.records import frozen
from swnn_kernels.references import table
from swnn_kernels.workspace import (
    check_budget,
    check_dead,
    check_labels,
    check_parameters,
    make_scratch,
    make_work,
)

_FAULTS = {
    query.BAD_IDS: "feature ids must be ascending, without repeats, and below {}",
    query.BAD_VALUES: "values must be finite",
}
_SHORTEST_BUFFER = 1024


class Session:
    """Answers single raw queries; use one session for each thread.

    Parameters
    ----------
    index : InvertedIndex
        The training rows.
    label_indptr, label_indices : arrays of int64 and int32
        Labels of each training row.
    n_neighbors, alpha, beta : int, float, float
        The method's S, alpha and beta.
    method : {"auto", "reference", "pruned"}
        All return the same.
    budget : int, optional
        Complete at most so many rows, those that promise most by a query's lists and heaviest
        features: faster, but not exact.
    dead : array of bool, optional
        Rows that must never be returned. The array is kept, not copied, if it is contiguous: rows
        may die while the session lives.

    Attributes
    ----------
    might : int
        With a budget: number of rows that could still beat the last neighbour of the last query.

    Examples
    --------
    >>> import numpy as np
    >>> index = InvertedIndex.build(np.array([0, 1, 2]), np.array([0, 1], np.int32),
    ...                             np.array([2**23] * 2, np.int32), 2)
    >>> session = Session(index, np.array([0, 1, 2]), np.array([7, 8], np.int32), 5, 1.0, 1.0)
    >>> labels, scores = session.predict_one([1], [0.5], k=2)
    >>> labels.tolist(), scores.tolist()
    ([8, -1], [1.0, 0.0])
    """

    def __init__(
        self,
        index: InvertedIndex,
        label_indptr: np.ndarray,
        label_indices: np.ndarray,
        n_neighbors: int,
        alpha: float,
        beta: float,
        *,
        dead: np.ndarray | None = None,
        method: str = "auto",
        budget: int | None = None,
    ) -> None:
        check_parameters(n_neighbors, alpha, beta, 1)
        self._index = index
        self._labels = check_labels(index, label_indptr, label_indices)
        self._dead = check_dead(index, dead)
        self._n_neighbors = n_neighbors
        self._alpha = float(alpha)
        self._beta = float(beta)
        self._method = method
        self._budget = check_budget(budget)
        self._might = np.zeros(1, dtype=np.int64)
        self._make_work(1, min(_SHORTEST_BUFFER, index.n_features))

    def _make_work(self, k: int, longest: int) -> None:
        # Whatever may fail, for lack of memory or in a damaged index, comes before any change.
        index, labels = self._index, table(self._labels)
        pruned = is_pruned(index, self._method, self._n_neighbors, longest)
        work = make_work(index, self._n_neighbors, self._labels, k, longest)
        work_table = table(work)
        kept: Any  # a table does not keep what it points to
        if pruned:
            kept = make_scratch(index, longest, self._budget)
            tables: tuple[Any, ...] = (
                table(index.split), labels, self._dead, work_table, table(kept)
            )  # fmt: skip
        else:
            kept = index.inverted
            tables = table(kept), index.row_sizes, index.n_rows, labels, self._dead, work_table
        self._k, self._longest, self._pruned = k, longest, pruned
        self._work, self._work_table, self._tables = work, work_table, tables
        if pruned:
            self._scratch = kept
        else:
            self._lists = kept
        # The batch kernels read a canonical query: here it is the buffer that load_query fills.
        self._indptr = np.zeros(2, dtype=np.int64)
        self._query = frozen(self._indptr), frozen(work.indices), frozen(work.units)

    @property
    def might(self) -> int:
        """Number of rows that could still beat the last neighbour of the last query."""
        return int(self._might[0])

    def predict_one(
        self, indices: np.ndarray, values: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rank labels for one query.

        Parameters
        ----------
        indices : array of int
            Features, ascending and without repeats.
        values : array of float
            Their values; zeros are allowed and mean nothing.
        k : int
            How many labels to return.

        Returns
        -------
        labels, scores : arrays of int64 and float64, (k,)
            Best first; missing places hold -1 and 0.
        """
        if k < 1:
            raise ValueError(f"k must be at least 1, got {k}")
        return self._answer(indices, values, k, True)

    def kneighbors_one(
        self, indices: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the most similar rows of one query; arguments as for `predict_one`.

        Returns
        -------
        ids, sims : arrays of int64 and float64, (n_neighbors,)
            Best first; missing places hold -1 and 0.
        """
        return self._answer(indices, values, self._n_neighbors, False)

    def _answer(
        self, indices: np.ndarray, values: np.ndarray, size: int, wants_labels: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        indices = frozen(np.ascontiguousarray(indices, dtype=np.int64))
        values = frozen(np.ascontiguousarray(values, dtype=np.float64))
        if indices.ndim != 1 or indices.shape != values.shape:
            raise ValueError("indices and values must be one-dimensional and of one length")
        if indices.size > self._longest or (wants_labels and size > self._k):
            longest = max(self._longest, room_for(indices.size, self._index.n_features))
            self._make_work(max(size if wants_labels else 1, self._k), longest)
        if indices.size > self._longest:
            raise ValueError(_FAULTS[query.BAD_IDS].format(self._index.n_features))
        n_features = self._index.n_features
        fault = query.load_query(self._work_table, indices, values, n_features, self._indptr)
        if fault < 0:
            raise ValueError(_FAULTS[fault].format(self._index.n_features))
        self._index.admit(indices)
        ids = np.empty((1, size), dtype=np.int64)
        out = np.empty((1, size))
        parameters = self._alpha, self._beta, wants_labels
        if self._pruned:
            query.answer_by_pruned(
                *self._tables, *self._query, 0, 1, *parameters, self._budget, self._might, ids, out
            )  # fmt: skip
        else:
            query.answer_by_reference(*self._tables, *self._query, 0, 1, *parameters, ids, out)
        return ids[0], out[0]
