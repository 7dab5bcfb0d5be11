"""The records that hold rows: of any array-API namespace, never mixing namespaces or devices."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = Any
"""An array of any array-API namespace (NumPy, CuPy, torch, array-api-strict)."""


VALUE_DTYPES = (np.uint8, np.float32, np.float64)
"""What values are kept as: the first of them that holds all of them exactly."""


class ValueRows(NamedTuple):
    """Canonical sparse rows with float64 values."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    n_features: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.indptr.shape[0]) - 1


class QuantisedRows(NamedTuple):
    """Canonical sparse rows of unit length in fixed point (see ``quantise_rows``).

    Row ``i`` has the features ``indices[indptr[i]:indptr[i + 1]]``, ascending and without repeats,
    and at the same positions of ``quantised`` their values times 2**23, rounded. A quantised value
    of 0 still belongs to the row's support.
    """

    indptr: Array  # int64, (n_rows + 1,)
    indices: Array  # int32, (nnz,)
    quantised: Array  # int32, (nnz,)
    n_features: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.indptr.shape[0]) - 1


class LabelRows(NamedTuple):
    """The labels of each row: ``indices[indptr[i]:indptr[i + 1]]``, ascending, without repeats."""

    indptr: Array  # int64, (n_rows + 1,)
    indices: Array  # int32, (nnz,)
    n_labels: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.indptr.shape[0]) - 1
