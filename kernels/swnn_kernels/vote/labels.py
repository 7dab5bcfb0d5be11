"""The labels of the training rows, checked and measured once."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from swnn_kernels.checks import check_indptr, check_voters
from swnn_kernels.dtypes import Int32, Int64, frozen


class Labels(NamedTuple):
    """Labels of every row, made by `prepare`.

    Examples
    --------
    >>> labels = Labels.prepare(np.array([0, 1, 3]), np.array([4, 2, 4]))
    >>> labels.n_rows, labels.n_labels, labels.longest_row
    (2, 5, 2)
    """

    indptr: Int64  # (n_rows + 1,)
    indices: Int32  # (nnz,)
    n_labels: int  # one more than the largest id
    longest_row: int  # most labels of a row

    @classmethod
    def prepare(cls, indptr: np.ndarray, indices: np.ndarray) -> Self:
        """Check the labels, once for all later calls.

        Parameters
        ----------
        indptr : array of int64, (n_rows + 1,)
            Where the labels of each row start.
        indices : array of int32
            Label ids, not negative.

        Returns
        -------
        Labels
            The same arrays, read-only, and what a vote needs to know of them.
        """
        indptr = np.ascontiguousarray(indptr, dtype=np.int64)
        indices = np.ascontiguousarray(indices, dtype=np.int32)
        check_indptr(indptr, indices.size, "labels")
        if indices.size and indices.min() < 0:
            raise ValueError("labels: ids must not be negative")
        n_labels = int(indices.max(initial=-1)) + 1
        longest = int(np.diff(indptr).max(initial=0))
        return cls(frozen(indptr), frozen(indices), n_labels, longest)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.indptr.size) - 1

    def most_voted(self, n_neighbors: int) -> int:
        """Upper bound on the number of labels that get a vote from this many neighbours."""
        if self.indices.size:
            check_voters(min(n_neighbors, self.n_rows))
        return min(self.longest_row * n_neighbors, int(self.indices.size), self.n_labels)
