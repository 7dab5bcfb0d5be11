"""LIBLINEAR, one model for each label over all rows: squared hinge (-s 1), C = 1, with a bias."""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp

from .base import BatchPeer as Base
from .base import refuse_beyond_limit

DROPPED = 0.01  # as in DiSMEC (Babbar and Schölkopf 2017), so that the model fits into memory
PATIENCE = 60  # CPU seconds before the time of all labels is projected
BLOCK = 512  # rows whose scores of all labels are in memory at once


class Peer(Base):
    title = "LIBLINEAR one-vs-rest"
    kind = "classifier"
    package = "liblinear-official"
    module = "liblinear"
    note = "squared hinge, C=1; weights below 0.01 dropped"
    compiles = True  # its conversion of rows, by numba

    def prepare(self, X, Y):
        self.X = sp.csr_matrix(X, dtype=np.float64)
        self.columns = sp.csc_array(Y)

    def build(self, X, Y, n_answers):
        self.k = n_answers
        n_labels, n_features = Y.shape[1], X.shape[1]
        train = trainer(self.X)
        self.bias = np.full(n_labels, -1.0, np.float32)  # that of a label without rows
        rows = [None] * n_labels
        start = time.process_time()
        order = np.random.default_rng(0).permutation(n_labels)
        for done, label in enumerate(order.tolist()):
            weights = train(self.columns, label)
            if weights is None:
                rows[label] = np.empty(0, np.int32), np.empty(0, np.float32)
                continue
            self.bias[label] = weights[n_features]
            kept = np.flatnonzero(np.abs(weights[:n_features]) >= DROPPED)
            rows[label] = kept.astype(np.int32), weights[kept].astype(np.float32)
            seconds = time.process_time() - start
            if seconds > PATIENCE:
                refuse_beyond_limit(seconds, done + 1, n_labels)
        sizes = [features.size for features, _ in rows]
        parts = [np.concatenate(part) for part in zip(*rows, strict=True)]
        pointers = np.concatenate([[0], np.cumsum(sizes)])
        shape = n_labels, n_features
        self.weights = sp.csr_array((parts[1], parts[0], pointers), shape=shape).T.tocsr()

    def save(self, folder):
        sp.save_npz(folder / "weights.npz", self.weights, compressed=False)
        np.save(folder / "bias.npy", self.bias)

    def ask_many(self, queries):
        blocks = range(0, queries.shape[0], BLOCK)
        answers = [self.best(queries[start : start + BLOCK]) for start in blocks]
        return tuple(np.concatenate(parts) for parts in zip(*answers, strict=True))

    def best(self, queries):
        scores = (queries @ self.weights).toarray() + self.bias
        k = min(self.k, scores.shape[1])
        found = np.argpartition(-scores, k - 1, axis=1)[:, :k]
        values = np.take_along_axis(scores, found, axis=1)
        order = np.argsort(-values, axis=1, kind="stable")
        return np.take_along_axis(found, order, axis=1), np.take_along_axis(values, order, axis=1)


def trainer(X):
    """A function from a label's column to its weights, the bias last; None without rows."""
    from liblinear.liblinearutil import parameter, problem, train

    data = problem(np.zeros(X.shape[0]), X, 1)
    options = parameter("-s 1 -c 1 -B 1 -q")
    target = np.ctypeslib.as_array(data.y, (X.shape[0],))

    def weights_of(columns, label):
        has_it = columns.indices[columns.indptr[label] : columns.indptr[label + 1]]
        if has_it.size == 0:
            return None
        target[:] = -1
        target[has_it] = 1
        model = train(data, options)
        return np.ctypeslib.as_array(model.w, (X.shape[1] + 1,)).copy()

    return weights_of
