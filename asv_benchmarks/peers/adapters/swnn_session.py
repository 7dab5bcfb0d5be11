"""This library: neighbours by cosine (beta = 0), one at a time by a session."""

from __future__ import annotations

from .base import Peer as Base


class Peer(Base):
    title = "swnn_xp"
    kind = "retrieval"
    package = module = "swnn_xp"
    compiles = True

    def build(self, X, Y, n_answers):
        from swnn_xp import SWNNClassifier

        self.clf = SWNNClassifier(n_neighbors=n_answers, alpha=1.0, beta=0.0, n_jobs=1).fit(X, Y)
        self.session = self.clf.session()

    def ready_one(self, row):
        return row.indices, row.data

    def ask_one(self, query):
        found = self.session.kneighbors_one(*query)
        return found.ids[None], found.similarities[None]

    def ready_many(self, rows):
        return rows

    def ask_many(self, queries):
        found = self.clf.kneighbors(queries)
        return found.ids, found.similarities
