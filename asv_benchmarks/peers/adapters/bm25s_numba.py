"""bm25s' numba scorer over unit rows; it knows no query weights, so those are left out.

Scores of a BM25 index are sums over the query's tokens, all of weight 1: the ranking is not the
cosine's. It is here for the speed of the loop.
"""

from __future__ import annotations

import numpy as np

from .base import BatchPeer as Base


class Peer(Base):
    title = "bm25s (numba)"
    kind = "retrieval"
    package = module = "bm25s"
    compiles = True
    exact = False
    note = "queries without weights: another ranking"

    def build(self, X, Y, n_answers):
        from bm25s.numba.retrieve_utils import _retrieve_internal_jitted_serial

        columns = X.tocsc()
        self.scores = columns.data, columns.indptr.astype(np.int32), columns.indices, X.shape[0]
        self.n_answers = n_answers
        self.retrieve = _retrieve_internal_jitted_serial

    def ready_many(self, rows):
        return rows.indices.astype(np.int32), rows.indptr.astype(np.int64)

    def ask_many(self, queries):
        scores, ids = self.retrieve(
            *queries, self.n_answers, True, np.dtype("float32"), np.dtype("int32"), *self.scores
        )
        return ids, scores
