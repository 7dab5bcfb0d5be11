"""vsag's SINDI, an inverted index of sparse vectors, without pruning or quantisation."""

from __future__ import annotations

import json

import numpy as np

from .base import Peer as Base
from .base import padded


class Peer(Base):
    title = "vsag SINDI"
    kind = "retrieval"
    package = module = "pyvsag"
    note = "no pruning, no quantisation"

    def build(self, X, Y, n_answers):
        import pyvsag

        pyvsag.set_logger_off()
        settings = {
            "dtype": "sparse",
            "metric_type": "ip",
            "dim": int(np.diff(X.indptr).max()),
            "index_param": {
                "term_id_limit": X.shape[1] + 1,
                "window_size": 50_000,
                "doc_prune_ratio": 0.0,
                "use_quantization": False,
                "use_reorder": False,
            },
        }
        self.n_answers = n_answers
        self.how = json.dumps({"sindi": {"n_candidate": n_answers, "query_prune_ratio": 0.0}})
        self.index = pyvsag.Index("sindi", json.dumps(settings))
        self.index.build(*self._arrays(X), np.arange(X.shape[0], dtype=np.int64))

    @staticmethod
    def _arrays(X):
        return X.indptr.astype(np.uint32), X.indices.astype(np.uint32), X.data.astype(np.float32)

    def ready_one(self, row):
        return self._arrays(row)

    def ask_one(self, query):
        ids, distances = self.index.knn_search(*query, self.n_answers, self.how)
        return padded(ids[0], 1.0 - distances[0], self.n_answers)
