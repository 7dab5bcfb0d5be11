"""napkinXC: a probabilistic label tree with its defaults."""

from __future__ import annotations

import shutil
import tempfile

import numpy as np
import scipy.sparse as sp

from .base import BatchPeer as Base
from .base import padded


class Peer(Base):
    title = "napkinXC PLT"
    kind = "classifier"
    package = module = "napkinxc"
    note = "defaults"
    kind_of_model = "PLT"

    def prepare(self, X, Y):
        self.X = sp.csr_matrix(X)
        self.labels = label_lists(Y)

    def build(self, X, Y, n_answers):
        from napkinxc import models

        self.k = n_answers
        self.folder = tempfile.TemporaryDirectory()
        self.model = getattr(models, self.kind_of_model)(self.folder.name, threads=1, verbose=False)
        self.model.fit(self.X, self.labels)
        self.model.load()

    def save(self, folder):
        shutil.copytree(self.folder.name, folder, dirs_exist_ok=True)  # where it was trained

    def ready_many(self, rows):
        return sp.csr_matrix(rows)

    def ask_many(self, queries):
        found = self.model.predict_proba(queries, top_k=self.k)
        rows = [padded([i for i, _ in best], [p for _, p in best], self.k) for best in found]
        return tuple(np.concatenate(parts) for parts in zip(*rows, strict=True))


def label_lists(Y):
    """The labels of each row as a list."""
    return [Y.indices[a:b].tolist() for a, b in zip(Y.indptr[:-1], Y.indptr[1:], strict=True)]
