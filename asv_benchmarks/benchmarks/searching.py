"""Search alone, by backend, S, beta and the number of queries in a call."""

from __future__ import annotations

from .common import LARGE_BATCH, Suite, clock, fit, measured_backends, queries, require, wait


class Searching(Suite):
    params = (measured_backends(), (25, 75), (0.0, 1.0), (1, LARGE_BATCH))
    param_names = ("backend", "S", "beta", "batch")

    def setup(self, backend, n_neighbors, beta, batch):
        require(backend, batch)
        if hasattr(self, "clf"):
            return
        self.timer = clock(backend)
        self.clf = fit(backend, n_neighbors=n_neighbors, beta=beta)
        self.queries = queries(batch)
        self.time_search(backend, n_neighbors, beta, batch)

    def time_search(self, backend, n_neighbors, beta, batch):
        self.clf.kneighbors(self.queries)
        wait(backend)
