"""PECOS XR-Linear with its defaults: one tree over PIFA embeddings of the labels."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .base import BatchPeer as Base
from .base import sorted_rows


class Peer(Base):
    title = "PECOS XR-Linear"
    kind = "classifier"
    package = "libpecos"
    module = "pecos"
    own_requirements = ("numpy<2", "scipy<1.14", "scikit-learn")
    note = "defaults; installed without its deep-learning dependencies"

    def build(self, X, Y, n_answers):
        sp.sputils = sp._sputils  # PECOS 1.2.8 uses names that SciPy has moved
        from pecos.xmc import Indexer, LabelEmbeddingFactory
        from pecos.xmc.xlinear.model import XLinearModel

        self.k = n_answers
        X, Y = sp.csr_matrix(X, dtype=np.float32), sp.csr_matrix(Y, dtype=np.float32)
        chain = Indexer.gen(LabelEmbeddingFactory.create(Y, X, method="pifa"), threads=1)
        self.model = XLinearModel.train(X, Y.tocsc(), C=chain, threads=1)

    def save(self, folder):
        self.model.save(str(folder))

    def ready_many(self, rows):
        return sp.csr_matrix(rows, dtype=np.float32)

    def ask_many(self, queries):
        return sorted_rows(self.model.predict(queries, only_topk=self.k, threads=1), self.k)
