"""From a raw row to ranked labels: one at a time, and many in a call."""

from __future__ import annotations

import itertools

import numpy as np

from . import data
from .common import (
    LARGE_BATCH,
    N_NEIGHBORS,
    BatchSizes,
    ManyAtOnce,
    OneByOne,
    OneBySession,
    Suite,
    fit,
    queries,
)


class Latency(OneByOne):
    """The published method."""

    def prepare(self, backend):
        self.prepare_rows(fit(backend))
        self.ask(backend)

    def time_predict_32_rows_one_by_one(self, backend):
        self.ask(backend)


class SessionLatency(OneBySession):
    """The published method by a session."""

    def setup(self):
        if not hasattr(self, "session"):
            self.prepare_session(fit("numba"))

    def time_predict_32_rows_one_by_one(self):
        self.ask()

    def time_kneighbors_of_32_rows_one_by_one(self):
        for row in self.rows:
            self.session.kneighbors_one(*row)


class Throughput(ManyAtOnce):
    """The published method."""

    def prepare(self, backend):
        self.prepare_rows(fit(backend))
        self.ask(backend)

    def time_predict_256_rows(self, backend):
        self.ask(backend)

    def peakmem_predict_256_rows(self, backend):
        """Memory of the whole process: the interpreter and the model are part of it."""
        self.clf.predict_topk(self.rows)


class Batches(BatchSizes):
    """The published method."""

    def model(self, backend):
        return fit(backend)

    def time_predict(self, backend, rows, given):
        self.ask(backend)


class Work(Suite):
    """How much of the index a query touches."""

    def setup(self):
        self.clf = fit("numba")

    def track_share_of_postings_read(self):
        from swnn_kernels import Labels, Session, Settings  # older revisions lack some of them

        index, rows = self.clf.model_.segments[0].kernel_index, queries(LARGE_BATCH)
        labels = data.load("y_train")
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
