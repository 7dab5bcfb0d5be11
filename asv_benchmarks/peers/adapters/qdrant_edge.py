"""qdrant-edge: qdrant's engine in the process; its sparse index is exact."""

from __future__ import annotations

import tempfile

from .base import Peer as Base
from .base import padded


class Peer(Base):
    title = "qdrant-edge"
    kind = "retrieval"
    package = "qdrant-edge-py"
    module = "qdrant_edge"
    block = 1000

    def build(self, X, Y, n_answers):
        import qdrant_edge as qdrant

        self.n_answers = n_answers
        self.folder = tempfile.TemporaryDirectory()
        config = qdrant.EdgeConfig(
            sparse_vectors={"row": qdrant.EdgeSparseVectorParams(full_scan_threshold=0)},
            max_search_threads=1,
        )
        self.shard = qdrant.EdgeShard.create(self.folder.name, config)
        for first in range(0, X.shape[0], self.block):
            points = [
                qdrant.Point(i, {"row": self._vector(X[i : i + 1])})
                for i in range(first, min(first + self.block, X.shape[0]))
            ]
            self.shard.update(qdrant.UpdateOperation.upsert_points(points))
        self.shard.optimize()

    @staticmethod
    def _vector(row):
        from qdrant_edge import SparseVector

        return SparseVector(row.indices.tolist(), row.data.tolist())

    def ready_one(self, row):
        from qdrant_edge import Query, SearchRequest

        return SearchRequest(Query.Nearest(self._vector(row), using="row"), limit=self.n_answers)

    def ask_one(self, query):
        points = self.shard.search(query)
        return padded([p.id for p in points], [p.score for p in points], self.n_answers)
