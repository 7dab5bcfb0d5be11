"""Building an index of 30,000 rows, from a SciPy matrix to a model that can answer."""

from __future__ import annotations

from swnn_xp import SWNNClassifier

from . import data
from .common import Suite, clock, fit, measured_backends, require, wait


class Building(Suite):
    params = (measured_backends(),)
    param_names = ("backend",)

    def setup(self, backend):
        require(backend)
        self.timer = clock(backend)
        if not hasattr(self, "X"):
            self.X, self.Y = data.load("X_train"), data.load("y_train")
            self.time_build(backend)

    def time_build(self, backend):
        SWNNClassifier(backend=backend, n_jobs=1).fit(self.X, self.Y)
        wait(backend)

    def peakmem_build(self, backend):
        """Memory of the whole process: the interpreter and the data are part of it."""
        SWNNClassifier(backend=backend, n_jobs=1).fit(self.X, self.Y)

    def track_index_bytes_per_nonzero(self, backend):
        clf = fit(backend)
        return sum(array.nbytes for array in clf.model_.segments[0].arrays().values()) / self.X.nnz

    track_index_bytes_per_nonzero.unit = "bytes"
