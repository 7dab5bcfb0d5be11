"""From rows to sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from swnn_xp.io.growing import Growing
from swnn_xp.io.rows import Piece


class Assembler:
    """Collects pieces and makes the two matrices of them.

    Labels are bool: a byte each, they can't overflow in a product as small integers would, sums
    over them count in int64, and CuPy's sparse matrices take them.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._label_counts = Growing(np.int64)
        self._labels = Growing(np.int32)
        self._feature_counts = Growing(np.int64)
        self._features = Growing(np.int32)
        self._values = Growing(dtype)

    def add(self, piece: Piece) -> None:
        """Append the rows of a piece."""
        self._label_counts.extend(piece.label_counts)
        self._labels.extend(piece.labels)
        self._feature_counts.extend(piece.feature_counts)
        self._features.extend(piece.features)
        self._values.extend(piece.values)

    def finish(self, n_features: int | None, n_labels: int | None) -> tuple[csr_array, csr_array]:
        """Make X and Y; a width that is None is one more than the largest id."""
        features, labels = self._features.finish(), self._labels.finish()
        x = _csr(self._values.finish(), features, self._feature_counts.finish(), n_features)
        y = _csr(np.ones(len(labels), bool), labels, self._label_counts.finish(), n_labels)
        return x, y


def _csr(
    data: npt.NDArray[Any],
    indices: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
    width: int | None,
) -> csr_array:
    if width is None:
        width = int(indices.max()) + 1 if len(indices) else 0
    # SciPy wants both index arrays of one type, and int64 only where int32 is too small.
    kind = np.int32 if len(indices) < 2**31 else np.int64
    indptr = np.zeros(len(counts) + 1, kind)
    np.cumsum(counts, out=indptr[1:])
    matrix = csr_array((data, indices, indptr), shape=(len(counts), width))
    matrix.has_canonical_format = True
    return matrix
