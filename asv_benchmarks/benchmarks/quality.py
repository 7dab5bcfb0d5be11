"""Figures that must not move: precision, and agreement with the exact arithmetic bit by bit."""

from __future__ import annotations

import numpy as np

from swnn_xp import datasets
from swnn_xp.metrics import precision_at_k

from . import data
from .common import LARGE_BATCH, N_AGREEMENT, Suite, fit, measured_backends, queries, require


class Agreement(Suite):
    params = (measured_backends(),)
    param_names = ("backend",)

    def setup(self, backend):
        self.clf = fit(backend)

    def track_agreement(self, backend):
        """Share of queries whose neighbours and similarities equal the reference's bits."""
        sims, ids = self.clf.kneighbors(queries(N_AGREEMENT))
        same = ids == np.load("reference_ids.npy")
        same &= sims == np.load("reference_sims.npy")
        return float(same.all(axis=1).mean())

    track_agreement.unit = "share"


class Precision(Suite):
    params = (measured_backends(LARGE_BATCH),)
    param_names = ("backend",)

    def setup(self, backend):
        require(backend, LARGE_BATCH)  # here, not below: asv takes it for a failure there
        self.clf = fit(backend)

    def track_p1(self, backend):
        labels = self.clf.predict_topk(data.load("X_test"), k=1).labels
        return 100 * precision_at_k(data.load("y_test"), labels, 1)

    track_p1.unit = "%"


class Debtags(Suite):
    """Precision on the data set that is shipped with the package."""

    params = ((1, 3, 5),)
    param_names = ("k",)

    def track_precision(self, k):
        from swnn_xp import SWNNClassifier

        debtags = datasets.load("debtags")
        clf = SWNNClassifier(n_neighbors=25, alpha=1.0, beta=1.0, n_jobs=1)
        clf.fit(debtags.X_train, debtags.y_train)
        return 100 * precision_at_k(debtags.y_test, clf.predict_topk(debtags.X_test, k).labels, k)

    track_precision.unit = "%"
