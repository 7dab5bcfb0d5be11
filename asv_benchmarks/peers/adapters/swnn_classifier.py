"""This library as a classifier: S = 25, alpha = 1, beta = 1."""

from __future__ import annotations

from .base import Peer as Base


class Peer(Base):
    title = "swnn_xp, S=25"
    kind = "classifier"
    package = module = "swnn_xp"
    compiles = True
    n_neighbors, alpha, beta = 25, 1.0, 1.0
    note = "alpha=1, beta=1; no training"

    def build(self, X, Y, n_answers):
        from swnn_xp import SWNNClassifier

        self.k = n_answers
        self.clf = SWNNClassifier(self.n_neighbors, self.alpha, self.beta, n_jobs=1).fit(X, Y)
        self.session = self.clf.session()

    def save(self, folder):
        self.clf.save(folder / "model")

    def ready_one(self, row):
        return row.indices, row.data

    def ask_one(self, query):
        best = self.session.predict_one(*query, k=self.k)
        return best.labels[None], best.scores[None]

    def ready_many(self, rows):
        return rows

    def ask_many(self, queries):
        return tuple(self.clf.predict_topk(queries, k=self.k))
