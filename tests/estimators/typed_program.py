"""A program of a user who checks types; `test_types.py` runs mypy on it."""

from __future__ import annotations

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import swnn_xp
from swnn_xp import Neighbours, RankedProbabilities, Ranking, SWNNClassifier, SWNNRanker
from swnn_xp.learn.explain import RankedExplanation
from swnn_xp.model.explain import Explanation
from swnn_xp.tuning import Split, TuningResult, tune

Ids = NDArray[np.int64]
Numbers = NDArray[np.float64]


def program() -> None:
    X = np.eye(3)
    clf = SWNNClassifier(n_neighbors=2).fit(X, [["a"], ["b"], ["a", "b"]])
    assert_type(clf, SWNNClassifier)
    assert_type(clf.predict_topk(X, k=2), Ranking)
    labels, scores = clf.predict_topk(X, k=2)
    assert_type(labels, Ids)
    assert_type(scores, Numbers)
    assert_type(clf.kneighbors(X), Neighbours)
    assert_type(clf.kneighbors(X).ids, Ids)
    assert_type(clf.topk_probabilities(X), RankedProbabilities)
    assert_type(clf.topk_probabilities(X).probabilities, Numbers)
    assert_type(clf.predict_names(X), list[list[str]])
    assert_type(clf.score(X, [["a"], ["b"], ["a"]]), float)
    assert_type(clf.explain(X[0], "a"), Explanation)
    assert_type(clf.session().predict_one([0], [1.0]).labels, Ids)
    assert_type(clf.label_counts_, Ids)
    assert_type(clf.label_names_, list[str] | None)
    assert_type(SWNNRanker().fit(X, X), SWNNRanker)
    assert_type(SWNNRanker().fit(X, X).explain(X[0], 0), RankedExplanation)
    assert_type(swnn_xp.load("model").predict_topk(X).scores, Numbers)
    assert_type(tune(X, X, split=Split(last=True)), TuningResult)
