"""scikit-learn's NearestNeighbors, brute force (the only one for sparse rows)."""

from __future__ import annotations

from .base import BatchPeer as Base


class Peer(Base):
    title = "scikit-learn NearestNeighbors"
    kind = "retrieval"
    package = "scikit-learn"
    module = "sklearn"

    def build(self, X, Y, n_answers):
        from sklearn.neighbors import NearestNeighbors

        self.model = NearestNeighbors(
            n_neighbors=n_answers, metric="cosine", algorithm="brute", n_jobs=1
        ).fit(X)

    def ask_many(self, queries):
        distances, ids = self.model.kneighbors(queries)
        return ids, 1.0 - distances
