"""nmslib (the build by MetaBrainz): a graph over sparse cosine distances, approximate."""

from __future__ import annotations

from .base import Peer as Base
from .base import padded


class Peer(Base):
    title = "nmslib HNSW"
    kind = "retrieval"
    package = "nmslib-metabrainz"
    module = "nmslib"
    exact = False
    note = "M=16, efConstruction=100, efSearch=200"

    def build(self, X, Y, n_answers):
        import nmslib

        self.n_answers = n_answers
        self.index = nmslib.init(
            method="hnsw", space="cosinesimil_sparse", data_type=nmslib.DataType.SPARSE_VECTOR
        )
        self.index.addDataPointBatch(X)
        self.index.createIndex({"M": 16, "efConstruction": 100, "indexThreadQty": 1})
        self.index.setQueryTimeParams({"efSearch": 200})

    def ask_one(self, query):
        ids, distances = self.index.knnQueryBatch(query, k=self.n_answers, num_threads=1)[0]
        return padded(ids, 1.0 - distances, self.n_answers)
