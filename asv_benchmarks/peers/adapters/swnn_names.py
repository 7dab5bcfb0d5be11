"""This library with what it learns, and the names of labels."""

from __future__ import annotations

from .swnn_ranker import Peer as Base


class Peer(Base):
    title = "swnn_xp, ranking, names"
    note = "defaults; the names of labels are looked up among those of features"
    takes_names = True

    def build(self, X, Y, n_answers):
        from swnn_xp import SWNNRanker

        self.k = n_answers
        clf = SWNNRanker(n_jobs=1)
        self.clf = clf.fit(X, Y, **self.names, label_features="names")
        self.session = self.clf.session()
