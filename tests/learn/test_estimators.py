"""scikit-learn's conventions: cloning, searching parameters, pipelines, copies."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from learn.problems import digest, rows_and_labels
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from swnn_xp import LearnedWeights, SWNNClassifier, SWNNRanker
from swnn_xp.metrics import precision_at_k

X, Y = rows_and_labels(120)
WORDS = ["bread flour oven", "yeast flour oven", "fox deer wood", "deer hunt wood", "oven wood"]
TEXTS, KINDS = WORDS * 6, np.asarray([[1, 0], [1, 0], [0, 1], [0, 1], [1, 1]] * 6)


@pytest.mark.parametrize("estimator", [SWNNRanker(7, C=0.5, n_candidates=9), LearnedWeights(7)])
def test_parameters_and_clones(estimator):
    copied = clone(estimator)
    assert copied is not estimator
    assert copied.get_params() == estimator.get_params()
    assert copied.set_params(n_neighbors=3).n_neighbors == 3
    assert estimator.n_neighbors == 7
    assert repr(estimator).startswith(f"{type(estimator).__name__}(n_neighbors=7, ")
    with pytest.raises(ValueError, match="no parameter 'depth'"):
        estimator.set_params(depth=1)


def test_grid_search():
    grid = {"C": np.asarray([0.1, 0.5]), "n_neighbors": np.asarray([3, 9]), "alpha": [1, 2]}
    search = GridSearchCV(SWNNRanker(learn_weights=False), grid, cv=3).fit(X, Y)
    best = search.best_estimator_
    assert best.score(X, Y) > 0.8
    assert type(best.model_.ranking.params["C"]) is float
    assert best.C_ == search.best_params_["C"]
    scores = cross_val_score(SWNNRanker(n_neighbors=9), sp.csr_array(X), Y, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.6


@pytest.mark.parametrize("last", [SWNNClassifier(5), SWNNRanker(5)])
def test_pipelines_from_text(last):
    pipe = make_pipeline(TfidfVectorizer(), LearnedWeights(n_neighbors=5), last).fit(TEXTS, KINDS)
    predicted = pipe.predict(["flour and bread", "a deer in the wood"])
    assert predicted.tolist() == [[1, 0], [0, 1]]
    assert pipe.score(TEXTS, KINDS) == 1
    assert pipe[:-1].transform(["flour"]).shape == (1, 8)
    assert clone(pipe).fit(TEXTS, sp.csr_array(KINDS)).score(TEXTS, KINDS) == 1


def by_joblib(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


@pytest.mark.parametrize("backend", ["numba", "numpy", "array-api"])
@pytest.mark.parametrize("how", [lambda e: pickle.loads(pickle.dumps(e)), copy.deepcopy, by_joblib])
@pytest.mark.parametrize("params", [{}, {"n_neighbors": 9}])
def test_copies(how, backend, params):
    clf = SWNNRanker(**params, backend=backend).fit(X[:100], Y[:100])
    for change in (lambda: clf.predict_topk(X), lambda: clf.partial_fit(X[100:], Y[100:])):
        change()
        copied = how(clf)
        assert digest(copied) == digest(clf)
        assert copied.get_params() == clf.get_params()
        for mine, its in zip(clf.predict_topk(X), copied.predict_topk(X), strict=True):
            np.testing.assert_array_equal(mine, its)
    weights = LearnedWeights(n_neighbors=9).fit(X, Y)
    assert (how(weights).transform(X) != weights.transform(X)).nnz == 0


TRAINED = {
    "n_neighbors": 3, "alpha": 2.0, "beta": 0.0, "n_candidates": 2, "C": 0.7, "vote_weight": 0.1,
    "learn_weights": False, "random_state": 1,
}  # fmt: skip


@pytest.mark.parametrize("name", TRAINED)
def test_what_was_trained_cannot_be_set_afterwards(name, tmp_path):
    clf = SWNNRanker(n_neighbors=9).fit(X, Y)
    before, old = clf.predict_topk(X), getattr(clf, name)
    clf.set_params(**{name: TRAINED[name]})
    calls = (clf.predict_topk, clf.predict, clf.kneighbors, lambda _: clf.session())
    for call in (*calls, lambda row: clf.explain(row[:1], 0), lambda row: clf.partial_fit(row, Y)):
        with pytest.raises(ValueError, match=f"^{name}=.* was trained with .*: call fit again"):
            call(X)
    clf.save(tmp_path)  # what it was trained with
    clf.set_params(**{name: old})
    for other in (clf, SWNNRanker.load(tmp_path)):
        for mine, its in zip(other.predict_topk(X), before, strict=True):
            np.testing.assert_array_equal(mine, its)
    loaded = SWNNRanker.load(tmp_path, **{name: TRAINED[name]})
    with pytest.raises(ValueError, match=f"^{name}=.* was trained with"):
        loaded.predict_topk(X)


def test_what_was_not_trained_can_be_set():
    clf = SWNNRanker(n_neighbors=9).fit(X, Y)
    before = clf.predict_topk(X)
    clf.set_params(n_jobs=2, memory_budget=10**6, backend="numpy")
    for mine, its in zip(clf.predict_topk(X), before, strict=True):
        np.testing.assert_array_equal(mine, its)
    assert clf.backend_ == "numpy"


def test_predictions_agree():
    clf = SWNNRanker(n_neighbors=9).fit(X, Y)
    labels, scores = clf.predict_topk(X, 7)
    positive, likely = clf.decision_function(X), clf.predict_proba(X)
    predicted = clf.predict(X)
    for row in range(len(X)):
        kept = labels[row] >= 0
        assert np.argsort(-positive[row], kind="stable")[: kept.sum()].tolist() == (
            labels[row][kept].tolist()
        )
        assert (np.diff(likely[row][labels[row][kept]]) <= 0).all()
        above = labels[row][kept & (scores[row] > 0)]
        assert np.flatnonzero(predicted[row]).tolist() == sorted(above.tolist())
    assert ((likely > 0.5) == (predicted == 1)).all()
    assert clf.score(X, Y) == precision_at_k(Y, labels, 1)


def test_attributes():
    clf = SWNNRanker(n_neighbors=9).fit(X, Y)
    assert (clf.n_neighbors_, clf.n_candidates_, clf.n_labels_) == (9, 7, 7)
    assert 0.2 <= clf.C_ <= 0.55
    assert 0.4 <= clf.vote_weight_ <= 0.65
    assert clf.label_counts_.tolist() == Y.sum(axis=0).tolist()
    assert SWNNRanker(learn_weights=False).fit(X, Y).feature_weights_ is None
    assert clf.kneighbors(X[:2]).ids.shape == (2, 9)
