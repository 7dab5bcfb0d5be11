"""Single queries while the kernels are being compiled: NumPy answers, with the same bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swnn_kernels.answer.kernels import BAD_IDS, BAD_VALUES
from swnn_kernels.answer.session import FAULTS
from swnn_kernels.records import check_k
from swnn_xp.backends import Index, Settings
from swnn_xp.rows.quantise import quantise_rows
from swnn_xp.rows.records import LabelRows, QuantisedRows, ValueRows

Arrays = tuple[NDArray[np.int64], NDArray[np.float64]]


@dataclass(frozen=True)
class StandInSession:
    """What a session of the kernels does, for the time until there is one."""

    index: Index
    labels: LabelRows
    settings: Settings
    removed: NDArray[np.bool_] | None
    feature_weights: NDArray[np.float64] | None

    n_unresolved = 0

    def predict_one(self, indices: Any, values: Any, k: int) -> Arrays:
        """Rank labels for one row."""
        query, k = self._query(indices, values), check_k(k)
        ranked = self.index.rank(query, self.labels, self.settings, k, self.removed)
        return ranked.labels[0], ranked.scores[0]

    def kneighbors_one(self, indices: Any, values: Any) -> Arrays:
        """Find the neighbours of one row by position."""
        query, (n_neighbors, _, beta) = self._query(indices, values), self.settings
        found = self.index.search(query, n_neighbors, beta, self.removed)
        return found.ids[0], found.similarities[0]

    def _query(self, indices: Any, values: Any) -> QuantisedRows:
        """Check and quantise a row as the kernels do."""
        indices, values = np.asarray(indices, np.int64), np.asarray(values, np.float64)
        if indices.ndim != 1 or indices.shape != values.shape:
            raise ValueError("indices and values must be one-dimensional and of one length")
        width = self.index.n_features
        bounded = indices.size == 0 or (indices[0] >= 0 and indices[-1] < width)
        if not bounded or np.any(indices[1:] <= indices[:-1]):
            raise ValueError(FAULTS[BAD_IDS].format(width))
        if not np.all(np.isfinite(values)):
            raise ValueError(FAULTS[BAD_VALUES].format(width))
        there = values != 0
        pointers = np.asarray([0, there.sum()], np.int64)
        row = ValueRows(pointers, indices[there].astype(np.int32), values[there], width)
        return quantise_rows(row, self.feature_weights)
