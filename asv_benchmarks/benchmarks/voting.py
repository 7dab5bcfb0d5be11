"""The vote alone: neighbours of 256 queries to ranked labels, in the arrays of a backend.

Left out are backends that fuse the vote with the search, or take the arrays of others.
"""

from __future__ import annotations

import importlib

import numpy as np

try:
    from swnn_xp.results import Neighbours
    from swnn_xp.rows.records import LabelRows
    from swnn_xp.vote import rank, vote
except ImportError:  # where the first revisions have them
    from swnn_xp._types import LabelRows, Neighbours
    from swnn_xp.vote import rank, vote

from . import data
from .common import LARGE_BATCH, Suite, clock, fit, measured_backends, queries, require, wait

_NAMESPACES = {"numpy": "numpy", "torch": "torch", "cupy": "cupy"}


class Voting(Suite):
    params = ([name for name in measured_backends() if name in _NAMESPACES], (25, 75))
    param_names = ("backend", "S")

    def setup(self, backend, n_neighbors):
        require(backend)
        if hasattr(self, "found"):
            return
        self.timer = clock(backend)
        xp = importlib.import_module(_NAMESPACES[backend])
        found = fit("numba", n_neighbors=n_neighbors).kneighbors(queries(LARGE_BATCH))
        Y = data.load("y_train")
        indptr, indices = xp.asarray(Y.indptr.astype(np.int64)), xp.asarray(Y.indices)
        self.labels = LabelRows(indptr, indices, Y.shape[1])
        self.found = Neighbours(xp.asarray(found.similarities), xp.asarray(found.ids))
        self.time_vote(backend, n_neighbors)

    def time_vote(self, backend, n_neighbors):
        rank(vote(self.found, self.labels, 1.0), 5)
        wait(backend)
