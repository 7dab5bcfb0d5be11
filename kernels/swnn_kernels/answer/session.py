"""One query at a time with little overhead: every buffer is allocated beforehand."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from swnn_kernels._numba import table
from swnn_kernels.answer import kernels
from swnn_kernels.answer.batch import check_fit, task_of
from swnn_kernels.answer.searcher import Searcher, room_for
from swnn_kernels.index.hybrid import ALL_CHECKED, HybridIndex
from swnn_kernels.records import (
    Cap,
    QuantisedRows,
    Settings,
    check_cap,
    check_feature_weights,
    check_k,
    check_removed,
    check_settings,
    frozen,
)
from swnn_kernels.vote import Labels

FAULTS = {
    kernels.BAD_IDS: "feature ids must be ascending, without repeats, and below {}",
    kernels.BAD_VALUES: "values must be finite",
}
_SHORTEST_BUFFER = 1024


class Session:
    """Answers single raw queries; use one session for each thread.

    Parameters
    ----------
    index : HybridIndex
        The training rows.
    labels : Labels
        Their labels.
    settings : Settings
        The method's S, alpha and beta.
    removed : array of bool, optional
        Rows that must not be returned. The array is kept, not copied, if it is contiguous.
    method : {"auto", "exhaustive", "pruned"}
        All return the same.
    cap : Cap, optional
        Search within a cap of postings: faster, but not exact.
    feature_weights : array of float64, (n_features,), optional
        Factors of a query's values; the index must have been built from rows scaled alike.

    Examples
    --------
    >>> import numpy as np
    >>> rows = QuantisedRows(np.array([0, 1, 2]), np.array([0, 1]), np.array([2**23] * 2), 2)
    >>> labels = Labels.prepare(np.array([0, 1, 2]), np.array([7, 8]))
    >>> session = Session(HybridIndex.build(rows), labels, Settings(5, 1.0, 1.0))
    >>> best, scores = session.predict_one([1], [0.5], k=2)
    >>> best.tolist(), scores.tolist()
    ([8, -1], [1.0, 0.0])
    """

    def __init__(
        self,
        index: HybridIndex,
        labels: Labels,
        settings: Settings,
        *,
        removed: np.ndarray | None = None,
        method: str = "auto",
        cap: Cap | None = None,
        feature_weights: np.ndarray | None = None,
    ) -> None:
        check_fit(index, labels)
        self._index, self._labels, self._method = index, labels, method
        self._settings = check_settings(settings)
        self._cap = None if cap is None else check_cap(cap, index.n_features)
        self._weights = check_feature_weights(feature_weights, index.n_features)
        flags = check_removed(removed, index.n_rows)
        # One task for neighbours, one for labels.
        self._tasks = [table(task_of(self._settings, wants, flags, self._cap)) for wants in (0, 1)]
        self._make_buffers(1, min(_SHORTEST_BUFFER, index.n_features))

    def __reduce__(self) -> Any:
        raise TypeError("a session belongs to one thread of one process: make another one there")

    def _make_buffers(self, k: int, longest: int) -> None:
        # Whatever may fail, for lack of memory or in a damaged index, comes before any change.
        n_neighbors = self._settings.n_neighbors
        n_rescored = 0 if self._cap is None else self._cap.n_rescored
        searcher = Searcher(
            self._index, self._labels, self._method, n_neighbors, k, longest, n_rescored
        )
        # The searches read canonical queries: here it is the raw one, once it is quantised.
        indptr = np.zeros(2, dtype=np.int64)
        buffers, n_features = searcher.buffers, self._index.n_features
        entries = np.zeros(longest, np.int64), np.zeros(longest)
        checked = ALL_CHECKED if n_rescored else self._index.checked_lists
        raw = kernels.RawQuery(*entries, self._weights, checked, indptr, n_features)
        query = QuantisedRows(
            frozen(indptr), frozen(buffers.indices), frozen(buffers.quantised), n_features,
        )  # fmt: skip
        # Answers are copied out of these: quicker than to allocate them in the kernel's shape.
        sizes = [(n_neighbors, 1), (k, 1)]
        if n_rescored:
            sizes.append((min(n_rescored, self._index.n_rows), 2))
        outs = [
            (np.empty((1, size), np.int64), *(np.empty((1, size)) for _ in range(n_values)))
            for size, n_values in sizes
        ]
        query_table = table(query)
        answers = [
            searcher.bind(task, query_table, out, raw)
            for task, out in zip((*self._tasks, self._tasks[0]), outs, strict=False)
        ]
        first_rows = [tuple(part[0] for part in out) for out in outs]
        self._bound = self._bind_ranking(k, raw, first_rows[0])
        self._answers, self._first_rows = answers, first_rows
        self._searcher, self._raw = searcher, raw
        self._entries: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}

    def _bind_ranking(
        self, k: int, raw: kernels.RawQuery, found: tuple[np.ndarray, np.ndarray]
    ) -> Any:
        """Bind what ranks the labels of a query by its neighbours; votes need no more."""

    @property
    def n_neighbors(self) -> int:
        """Number of neighbours that are looked for."""
        return self._settings.n_neighbors

    def predict_one(
        self, indices: np.ndarray, values: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rank labels for one query.

        Parameters
        ----------
        indices : array of int
            Features, ascending and without repeats.
        values : array of float
            Their values; zeros are allowed and ignored.
        k : int
            How many labels to return.

        Returns
        -------
        labels, scores : arrays of int64 and float64, (k,)
            Best first; missing labels are -1 and 0.
        """
        return self._answer(indices, values, check_k(k), 1)

    def rank_one(
        self, indices: np.ndarray, values: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rank labels as `predict_one` does; also the similarities of the neighbours that voted.

        Examples
        --------
        >>> rows = QuantisedRows(np.array([0, 1, 2]), np.array([0, 1]), np.array([2**23] * 2), 2)
        >>> labels = Labels.prepare(np.array([0, 1, 2]), np.array([7, 8]))
        >>> session = Session(HybridIndex.build(rows), labels, Settings(2, 1.0, 1.0))
        >>> session.rank_one([1], [0.5], k=1)[2].tolist()
        [1.0, 0.0]
        """
        k = check_k(k)
        size = self._copy(indices, values, k)  # it may make new buffers
        sims = self._searcher.buffers.sims
        sims[:] = 0  # where no neighbour is found
        self._run(1, size)
        labels, scores = self._first_rows[1][:2]
        return labels[:k].copy(), scores[:k].copy(), sims.copy()

    def kneighbors_one(
        self, indices: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the most similar rows of one query; arguments as for `predict_one`.

        Returns
        -------
        ids, sims : arrays of int64 and float64, (n_neighbors,)
            Best first; missing rows are -1 and 0.
        """
        return self._answer(indices, values, self._settings.n_neighbors, 0)

    def shortlist_one(
        self, indices: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Find the rows that the capped search rescores for one query; see `batch.shortlist`."""
        size = self._copy(indices, values, 1)
        self._run(2, size)
        ids, sims, scores = self._first_rows[2]
        return ids.copy(), sims.copy(), scores.copy()

    def _answer(
        self, indices: np.ndarray, values: np.ndarray, size: int, wants_labels: int
    ) -> tuple[np.ndarray, np.ndarray]:
        self._run(wants_labels, self._copy(indices, values, size if wants_labels else 1))
        ids, scores = self._first_rows[wants_labels][:2]
        if size < ids.shape[0]:
            ids, scores = ids[:size], scores[:size]
        return ids.copy(), scores.copy()

    def _copy(self, indices: np.ndarray, values: np.ndarray, k: int) -> int:
        """Copy a query to where the kernels find it; return its size."""
        indices, values = np.asarray(indices), np.asarray(values)
        shape = indices.shape
        if len(shape) != 1 or shape != values.shape:
            raise ValueError("indices and values must be one-dimensional and of one length")
        entries = self._entries.get(shape)
        if entries is None or k > self._searcher.k:
            entries = self._make_entries(shape[0], k)
        entries[0][...] = indices
        entries[1][...] = values
        return shape[0]

    def _make_entries(self, size: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Views for a query of this size, kept for the next: a slice costs as much as the copy."""
        if size > self._searcher.longest or k > self._searcher.k:
            self._grow(size, k)
            if size > self._searcher.longest:  # more than there are features
                self._refuse(kernels.BAD_IDS)
        entries = self._raw.indices[:size], self._raw.values[:size]
        if size <= _SHORTEST_BUFFER:
            self._entries[size,] = entries
        return entries

    def _run(self, wants_labels: int, size: int) -> None:
        """Answer the query that was copied; ValueError if it is not valid."""
        fault = self._answers[wants_labels](size)
        if fault == kernels.UNCHECKED:
            self._index.check_lists(self._raw.indices[:size])
            self._answers[wants_labels](size)
        elif fault < 0:
            self._refuse(fault)

    def _refuse(self, fault: int) -> NoReturn:
        raise ValueError(FAULTS[fault].format(self._index.n_features))

    def _grow(self, size: int, k: int) -> None:
        """Make larger buffers, for a query or its answer."""
        held = self._searcher
        longest = max(held.longest, room_for(size, self._index.n_features))
        self._make_buffers(max(k, held.k), longest)
