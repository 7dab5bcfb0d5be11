"""From rows to sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from swnn_xp.io.growing import Growing
from swnn_xp.io.rows import ParsedRows


class Assembler:
    """Collects parsed rows and builds the two matrices.

    Labels are bool: one byte each, no overflow in products as with small integers, sums count in
    int64, and CuPy's sparse matrices accept them.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._label_counts = Growing(np.int64)
        self._labels = Growing(np.int32)
        self._feature_counts = Growing(np.int64)
        self._features = Growing(np.int32)
        self._values = Growing(dtype)

    def add(self, parsed: ParsedRows) -> None:
        """Append rows."""
        self._label_counts.extend(parsed.label_counts)
        self._labels.extend(parsed.labels)
        self._feature_counts.extend(parsed.feature_counts)
        self._features.extend(parsed.features)
        self._values.extend(parsed.values)

    def finish(self, n_features: int | None, n_labels: int | None) -> tuple[csr_array, csr_array]:
        """Build X and y; a width of None means one more than the largest id."""
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
    # SciPy wants one type for both index arrays, and int64 only where int32 is too small.
    dtype = np.int32 if len(indices) < 2**31 else np.int64
    indptr = np.zeros(len(counts) + 1, dtype)
    np.cumsum(counts, out=indptr[1:])
    matrix = csr_array((data, indices, indptr), shape=(len(counts), width))
    matrix.has_canonical_format = True
    return matrix
