"""This library with what it learns: feature weights, and a ranker of the labels voted for."""

from __future__ import annotations

from .swnn_classifier import Peer as Base


class Peer(Base):
    title = "swnn_xp, ranking"
    note = "defaults"
    needs = "SWNNRanker"

    def missing(self):
        import swnn_xp

        available = hasattr(swnn_xp, self.needs)
        return None if available else f"not available: swnn_xp has no {self.needs}"

    def build(self, X, Y, n_answers):
        from swnn_xp import SWNNRanker

        self.k = n_answers
        self.clf = SWNNRanker(n_jobs=1).fit(X, Y)
        self.session = self.clf.session()

    def calibration_error(self, X, Y):
        from swnn_xp import metrics

        best = self.clf.topk_probabilities(X, self.k)
        return metrics.reliability(Y, best.labels, best.probabilities).error
