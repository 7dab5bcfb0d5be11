"""sparse_dot_topn: a sparse product that keeps the best entries of each row."""

from __future__ import annotations

from .base import BatchPeer as Base
from .base import sorted_rows


class Peer(Base):
    title = "sparse_dot_topn"
    kind = "retrieval"
    package = "sparse-dot-topn"
    module = "sparse_dot_topn"

    def build(self, X, Y, n_answers):
        import scipy.sparse as sp

        self.n_answers = n_answers
        self.columns = sp.csr_matrix(X.T)

    def ready_many(self, rows):
        import scipy.sparse as sp

        return sp.csr_matrix(rows)

    def ask_many(self, queries):
        from sparse_dot_topn import sp_matmul_topn

        best = sp_matmul_topn(queries, self.columns, self.n_answers, sort=True, n_threads=1)
        return sorted_rows(best, self.n_answers)
