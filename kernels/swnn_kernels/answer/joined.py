"""One query at a time over several segments of rows: each is searched, what they find is joined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from swnn_kernels._numba import kernel
from swnn_kernels.answer.session import Session
from swnn_kernels.records import Float64, Int64


class JoinedSessions:
    """Finds the neighbours of single raw queries in all segments; use one for each thread.

    Parameters
    ----------
    sessions : sequence of Session
        One for each segment, with the same settings.
    offsets : sequence of int
        Number of each segment's first row, ascending.

    Examples
    --------
    >>> from swnn_kernels.index.hybrid import HybridIndex
    >>> from swnn_kernels.records import QuantisedRows, Settings
    >>> from swnn_kernels.vote import Labels
    >>> rows = QuantisedRows(np.array([0, 1]), np.array([0]), np.array([2**23]), 1)
    >>> none, settings = Labels.prepare(np.array([0, 0]), np.array([], int)), Settings(3, 1.0, 1.0)
    >>> parts = [Session(HybridIndex.build(rows), none, settings) for _ in range(2)]
    >>> ids, sims = JoinedSessions(parts, (0, 1)).kneighbors_one([0], [0.5])
    >>> ids.tolist(), sims.tolist()
    ([0, 1, -1], [1.0, 1.0, 0.0])
    """

    def __init__(self, sessions: Sequence[Session], offsets: Sequence[int]) -> None:
        self._sessions = sessions
        self._offsets, self._next = np.asarray(offsets, np.int64), np.zeros(len(offsets), np.int64)
        n_neighbors = sessions[0].n_neighbors
        self._ids = np.empty((len(sessions), n_neighbors), np.int64)
        self._sims = np.empty((len(sessions), n_neighbors))

    def kneighbors_one(
        self, indices: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the most similar rows; arguments and result as for `Session.kneighbors_one`."""
        for at, session in enumerate(self._sessions):
            self._ids[at], self._sims[at] = session.kneighbors_one(indices, values)
        ids, sims = np.empty(self._ids.shape[1], np.int64), np.empty(self._ids.shape[1])
        _join(self._ids, self._sims, self._offsets, self._next, ids, sims)
        return ids, sims


@kernel
def _join(
    found: Int64, found_sims: Float64, offsets: Int64, heads: Int64, ids: Int64, sims: Float64
) -> None:
    """Join the segments' lists, best first: of equal rows, those of earlier segments."""
    heads[:] = 0
    for slot in range(ids.size):
        best, best_sim = -1, 0.0
        for at in range(offsets.size):
            head = heads[at]
            if head < ids.size and found[at, head] >= 0 and found_sims[at, head] > best_sim:
                best, best_sim = at, found_sims[at, head]
        if best < 0:
            ids[slot], sims[slot] = -1, 0.0
        else:
            ids[slot], sims[slot] = found[best, heads[best]] + offsets[best], best_sim
            heads[best] += 1
