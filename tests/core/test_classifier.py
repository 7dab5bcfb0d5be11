"""The classifier's manners: parameters, errors, explanations, scikit-learn's tools."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from swnn_xp import SWNNClassifier
from swnn_xp.sklearn_api import NotFittedError

X = np.asarray([[1.0, 1, 0], [0, 1, 1], [1, 0, 0]])
Y = np.asarray([[1, 0], [0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be a whole number of at least 1, got 0"),
        ({"n_neighbors": 2.5}, "n_neighbors must be a whole number"),
        ({"alpha": -1}, "alpha must be a number of at least 0, got -1"),
        ({"beta": float("nan")}, "beta must be a number"),
        ({"beta": float("inf")}, "beta must be a number"),
        ({"backend": "abacus"}, "backend must be one of auto, .*got 'abacus'"),
        ({"memory_budget": 0}, "memory_budget must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        SWNNClassifier(**params).fit(X, Y)


def test_bad_data():
    clf = SWNNClassifier()
    with pytest.raises(ValueError, match="X has 3 rows but y has 2"):
        clf.fit(X, Y[:2])
    with pytest.raises(ValueError, match="X has no rows"):
        clf.fit(np.zeros((0, 3)), np.zeros((0, 2)))
    clf.fit(X, Y)
    with pytest.raises(ValueError, match="X has 4 features, but SWNNClassifier is expecting 3"):
        clf.predict_topk(np.ones((1, 4)))
    with pytest.raises(ValueError, match="k must be"):
        clf.predict_topk(X, k=0)
    with pytest.raises(ValueError, match="X: row 0, column 2 is NaN"):
        clf.predict_topk([[1, 2, np.nan]])
    with pytest.raises(ValueError, match="feature_names has 1 names, expected 3"):
        clf.fit(X, Y, feature_names=["a"])


def test_not_fitted():
    for call in (lambda c: c.predict(X), lambda c: c.explain(X[0], 0), lambda c: c.save("x")):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call(SWNNClassifier())


def test_parameters_can_change_after_fit():
    clf = SWNNClassifier(n_neighbors=3).fit(X, Y)
    clf.set_params(n_neighbors=1, alpha=0.0)
    assert clf.predict_topk(X[:1], k=1).scores.tolist() == [[1.0]]
    with pytest.raises(ValueError, match="no parameter 'gamma'; there are n_neighbors"):
        clf.set_params(gamma=1)


def test_explain_adds_up():
    names = {"feature_names": ["sun", "sea", "ice"], "label_names": ["warm", "cold"]}
    clf = SWNNClassifier(n_neighbors=3).fit(X, Y, **names)
    told = clf.explain(X[0], "warm")
    assert told == clf.explain(sp.csr_array(X[:1]), 0)
    assert [voter.row for voter in told.voters] == [0, 2]
    assert sum(voter.share for voter in told.voters) == pytest.approx(1)
    assert told.score == clf.decision_function(X[:1])[0, 0]
    assert told.probability == clf.predict_proba(X[:1])[0, 0]
    first = told.voters[0]
    assert first.overlap == 2
    assert sorted(feature.name for feature in first.features) == ["sea", "sun"]
    assert sum(feature.contribution for feature in first.features) == pytest.approx(1)
    assert "warm: score" in str(told)
    assert "row 2" in str(told)


def test_explain_refuses():
    clf = SWNNClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="label 2 is outside 0..1"):
        clf.explain(X[0], 2)
    with pytest.raises(ValueError, match="the model has no label names"):
        clf.explain(X[0], "warm")
    with pytest.raises(ValueError, match="explain takes one row, got 3"):
        clf.explain(X, 0)
    clf.fit(X, Y, label_names=["warm", "cold"])
    with pytest.raises(ValueError, match="no label is called 'hot'"):
        clf.explain(X[0], "hot")


def test_explain_a_label_nobody_voted_for():
    told = SWNNClassifier(n_neighbors=1).fit(X, Y).explain(X[0], 1)
    assert (told.score, told.probability, told.voters) == (0.0, 0.0, ())


def test_scikit_learn_clone_and_kind():
    clf = SWNNClassifier(n_neighbors=7, beta=0.5)
    assert clone(clf).get_params() == clf.get_params()
    assert is_classifier(clf)


def test_scikit_learn_pipeline_and_grid_search():
    texts = ["sun sea", "sea ice", "sun sand", "ice snow", "sand sea sun", "snow and ice"] * 4
    warm = np.asarray([[1, 0], [0, 1]] * 12)
    pipe = make_pipeline(TfidfVectorizer(), SWNNClassifier(n_neighbors=3))
    pipe.fit(texts, sp.csr_array(warm))
    assert pipe.predict(["snow"]).toarray().tolist() == [[0, 1]]
    grid = {"swnnclassifier__n_neighbors": [1, 3], "swnnclassifier__beta": [0.0, 1.0]}
    search = GridSearchCV(pipe, grid, cv=2).fit(texts, warm)
    assert search.best_score_ == 1.0
    assert search.predict_proba(["sun"])[0, 0] == 1.0


def test_import_is_light():
    code = (
        "import sys, swnn_xp; swnn_xp.SWNNClassifier; "
        "print([m for m in ('numba', 'cupy', 'torch', 'sklearn') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
