"""A small backend in full: search with a dense product.

It ignores the memory budget and loses values that were rounded to 0; on ordinary data it agrees
with the others to the last bit. CONTRIBUTING.md says what a backend must do, and
tests/docs/test_examples.py runs this one.
"""

import numpy as np

from swnn_xp.backends import DEFAULT_OPTIONS, Backend, Index
from swnn_xp.search import similarity, top_rows


class DenseIndex(Index):
    """Quantised rows as a dense matrix."""

    backend = "dense"

    def __init__(self, rows):
        self._rows, self._dense, self._sizes = rows, dense(rows), np.diff(rows.indptr)

    @classmethod
    def build(cls, rows, placement):
        return cls(rows)

    @property
    def n_rows(self):
        return self._rows.n_rows

    @property
    def n_features(self):
        return self._rows.n_features

    def rows(self):
        return self._rows

    def search(self, queries, n_neighbors, beta, removed=None, options=DEFAULT_OPTIONS):
        Q, X = dense(queries), self._dense
        overlaps = (Q != 0).astype(float) @ (X != 0).astype(float).T
        sizes = np.diff(queries.indptr)[:, None].astype(float), self._sizes[None, :].astype(float)
        sims = similarity(Q @ X.T, overlaps, *sizes, beta)
        return top_rows(sims if removed is None else np.where(removed, 0.0, sims), n_neighbors)


def dense(rows):
    """Quantised rows as a NumPy matrix."""
    made = np.zeros((rows.n_rows, rows.n_features))
    made[np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr)), rows.indices] = rows.quantised
    return made


class Dense(Backend):
    """A row of the table of backends whose class need not be imported by name."""

    def load(self):
        return DenseIndex


DENSE = Dense("dense", "", (), "", ("cpu",), ("numpy", "scipy"), "a dense product")
