"""omikuji with its defaults: a forest of three balanced trees, as Parabel."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .base import Peer as Base
from .base import padded


class Peer(Base):
    title = "omikuji (Parabel-like)"
    kind = "classifier"
    package = module = "omikuji"
    note = "defaults"

    def prepare(self, X, Y):
        from swnn_xp.io import write_xmc

        self.folder = tempfile.TemporaryDirectory()
        write_xmc(Path(self.folder.name) / "train.txt", X, Y)

    def build(self, X, Y, n_answers):
        import omikuji

        self.k = n_answers
        path = Path(self.folder.name) / "train.txt"
        self.model = omikuji.Model.train_on_data(str(path), n_threads=1)
        self.model.init_prediction_thread_pool(1)

    def save(self, folder):
        self.model.save(str(folder))

    def ready_one(self, row):
        return list(zip(row.indices.tolist(), row.data.tolist(), strict=True))

    def ask_one(self, query):
        best = self.model.predict(query, top_k=self.k)
        return padded([label for label, _ in best], [score for _, score in best], self.k)
