"""From a raw row to ranked labels: one at a time, and many in a call."""

from __future__ import annotations

import itertools

import numpy as np

from .common import BACKEND_NAMES, LARGE_BATCH, Suite, fit, queries, require, wait


class Latency(Suite):
    """One query after the other; each call is another row, so no row is in the cache."""

    params = (BACKEND_NAMES,)
    param_names = ("backend",)
    number = 32

    def setup(self, backend):
        self.clf = fit(backend)
        rows = queries(self.number)
        self.rows = itertools.cycle([rows[[i]] for i in range(rows.shape[0])])
        self.time_predict_one_row(backend)

    def time_predict_one_row(self, backend):
        self.clf.predict_topk(next(self.rows))
        wait(backend)


class SessionLatency(Suite):
    """The same by a session, which only the numba backend has."""

    number = 128

    def setup(self):
        self.session = fit("numba").session()
        rows = queries(self.number)
        cuts = itertools.pairwise(rows.indptr)
        self.rows = itertools.cycle([(rows.indices[a:b], rows.data[a:b]) for a, b in cuts])
        self.time_predict_one()

    def time_predict_one(self):
        self.session.predict_one(*next(self.rows))

    def time_kneighbors_one(self):
        self.session.kneighbors_one(*next(self.rows))


class Throughput(Suite):
    """Labels of 256 rows in one call; the figure is the time of the call."""

    params = (BACKEND_NAMES,)
    param_names = ("backend",)

    def setup(self, backend):
        require(backend, LARGE_BATCH)
        self.clf = fit(backend)
        self.queries = queries(LARGE_BATCH)
        self.time_predict_256_rows(backend)

    def time_predict_256_rows(self, backend):
        self.clf.predict_topk(self.queries)
        wait(backend)

    def peakmem_predict_256_rows(self, backend):
        """Memory of the whole process: the interpreter and the model are part of it."""
        self.clf.predict_topk(self.queries)


class Work(Suite):
    """How much of the index a query touches."""

    def setup(self):
        self.clf = fit("numba")

    def track_share_of_postings_read(self):
        session, rows = self.clf.session(), queries(LARGE_BATCH)
        inner = session._sessions[0]
        if not hasattr(inner, "_scratch"):
            raise NotImplementedError("this kernel does not count what it reads")
        before = int(inner._scratch.tally[0])
        for a, b in itertools.pairwise(rows.indptr):
            session.kneighbors_one(rows.indices[a:b], rows.data[a:b])
        occurrences = np.diff(self.clf.index_.inverted.inverted.starts)
        return (int(inner._scratch.tally[0]) - before) / int(occurrences[rows.indices].sum())

    track_share_of_postings_read.unit = "share"
