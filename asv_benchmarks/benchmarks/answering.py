"""From a raw row to ranked labels: one at a time, and many in a call."""

from __future__ import annotations

import itertools

import numpy as np

from swnn_kernels import Labels, Session, Settings

from . import data
from .common import (
    BACKEND_NAMES,
    LARGE_BATCH,
    N_NEIGHBORS,
    Suite,
    clock,
    fit,
    queries,
    require,
    wait,
)

ONE_BY_ONE = 32


class Latency(Suite):
    """One query after the other: divide by the number of rows for the time of one."""

    params = (BACKEND_NAMES,)
    param_names = ("backend",)

    def setup(self, backend):
        require(backend, ONE_BY_ONE)
        if hasattr(self, "clf"):
            return
        self.clf = fit(backend)
        self.timer = clock(backend)
        rows = queries(ONE_BY_ONE)
        self.rows = [rows[[i]] for i in range(ONE_BY_ONE)]
        self.time_predict_32_rows_one_by_one(backend)

    def time_predict_32_rows_one_by_one(self, backend):
        for row in self.rows:
            self.clf.predict_topk(row)
        wait(backend)


class SessionLatency(Suite):
    """The same by a session, which only the numba backend has."""

    def setup(self):
        if hasattr(self, "session"):
            return
        self.session = fit("numba").session()
        rows = queries(ONE_BY_ONE)
        cuts = itertools.pairwise(rows.indptr)
        self.rows = [(rows.indices[a:b], rows.data[a:b]) for a, b in cuts]
        self.time_predict_32_rows_one_by_one()

    def time_predict_32_rows_one_by_one(self):
        for row in self.rows:
            self.session.predict_one(*row)

    def time_kneighbors_of_32_rows_one_by_one(self):
        for row in self.rows:
            self.session.kneighbors_one(*row)


class Throughput(Suite):
    """Labels of 256 rows in one call; the figure is the time of the call."""

    params = (BACKEND_NAMES,)
    param_names = ("backend",)

    def setup(self, backend):
        require(backend, LARGE_BATCH)
        if hasattr(self, "clf"):
            return
        self.timer = clock(backend)
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
        index, rows = self.clf._model.segments[0].kernel_index, queries(LARGE_BATCH)
        labels = data.load("Y_train")
        labels = Labels.prepare(labels.indptr, labels.indices)
        session = Session(index, labels, Settings(N_NEIGHBORS, 1.0, 1.0), method="pruned")
        prune = session._searcher.prune
        if prune is None:
            raise NotImplementedError("this search does not count what it reads")
        for a, b in itertools.pairwise(rows.indptr):
            session.kneighbors_one(rows.indices[a:b], rows.data[a:b])
        occurrences = np.diff(index.postings.indptr)
        return int(prune.postings_read[0]) / int(occurrences[rows.indices].sum())

    track_share_of_postings_read.unit = "share"
