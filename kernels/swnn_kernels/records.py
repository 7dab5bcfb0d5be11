"""What callers hand to the kernels: rows and settings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swnn_kernels.dtypes import Int32, Int64, frozen


class Rows(NamedTuple):
    """Canonical quantised rows: features ascend in a row and do not repeat.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows(np.array([0, 1, 2]), np.array([0, 1]), np.array([2**23] * 2), 2)
    >>> rows.n_rows
    2
    """

    indptr: Int64  # (n_rows + 1,)
    indices: Int32  # (nnz,): features
    quantised: Int32  # (nnz,): unit values times 2**23
    n_features: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.indptr.size) - 1

    def prepared(self) -> Rows:
        """The same rows in arrays as kernels take them: contiguous, of fixed dtypes, read-only."""
        return Rows(
            frozen(np.ascontiguousarray(self.indptr, dtype=np.int64)),
            frozen(np.ascontiguousarray(self.indices, dtype=np.int32)),
            frozen(np.ascontiguousarray(self.quantised, dtype=np.int32)),
            int(self.n_features),
        )


class Settings(NamedTuple):
    """The method's parameters S, alpha and beta."""

    n_neighbors: int
    alpha: float  # exponent of a similarity in its vote's weight
    beta: float  # exponent of Jaccard's coefficient in the similarity
