"""This library with learned feature weights and no ranker: S = 25, alpha = 1, beta = 1."""

from __future__ import annotations

import pickle

from .swnn_ranker import Peer as Base


class Peer(Base):
    title = "swnn_xp, weights"
    note = "S=25, alpha=1, beta=1"
    needs = "LearnedWeights"
    calibration_error = None  # shares of votes are no probabilities

    def build(self, X, Y, n_answers):
        from swnn_xp import LearnedWeights, SWNNClassifier

        self.k = n_answers
        self.weights = LearnedWeights().fit(X, Y)
        rows = self.weights.transform(X)
        self.clf = SWNNClassifier(self.n_neighbors, self.alpha, self.beta, n_jobs=1).fit(rows, Y)
        self.session = self.clf.session()

    def save(self, folder):
        super().save(folder)
        (folder / "weights.pickle").write_bytes(pickle.dumps(self.weights))

    def ready_one(self, row):
        return row

    def ask_one(self, query):
        row = self.weights.transform(query)  # a part of the answer, so it is timed
        return super().ask_one((row.indices, row.data))

    def ask_many(self, queries):
        return super().ask_many(self.weights.transform(queries))
