"""With one class per row, predictions, probabilities and decisions name the same class."""

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier, SWNNRanker

RNG = np.random.default_rng(0)
X = sp.random_array((400, 30), density=0.2, rng=RNG, format="csr")


def classes(n):
    """One class per row that the features say little about, so that many scores are alike."""
    best = np.asarray((X @ RNG.random((30, n))).argmax(axis=1)).ravel()
    return np.where(RNG.random(400) < 0.5, best, RNG.integers(0, n, 400))


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize(
    "clf",
    [SWNNRanker(), SWNNRanker(calibrate=False), SWNNClassifier(), SWNNClassifier(calibrate=True)],
)
def test_predictions_probabilities_and_decisions_agree(clf, n_classes):
    y = classes(n_classes)
    clf.fit(X[:200], y[:200])
    Q = sp.vstack([X[200:], sp.csr_array((1, 30))], format="csr")  # the last has no neighbours
    predicted, likely, decided = clf.predict(Q), clf.predict_proba(Q), clf.decision_function(Q)
    assert predicted.tolist() == clf.classes_[likely.argmax(axis=1)].tolist()
    by_decision = (decided > 0).astype(int) if n_classes == 2 else decided.argmax(axis=1)
    assert predicted.tolist() == clf.classes_[by_decision].tolist()
    best = clf.predict_topk(Q, k=1).labels[:-1, 0]
    assert predicted[:-1].tolist() == clf.classes_[best].tolist()
    np.testing.assert_allclose(likely.sum(axis=1), 1, rtol=1e-12)
    ranked = clf.topk_probabilities(Q, k=n_classes)
    raw = ranked.probabilities / np.maximum(ranked.probabilities.sum(axis=1, keepdims=True), 1e-300)
    here = np.take_along_axis(likely, np.maximum(ranked.labels, 0), axis=1)
    known = (ranked.labels >= 0) & (ranked.probabilities.sum(axis=1, keepdims=True) > 0)
    np.testing.assert_allclose(here[known], raw[known], rtol=1e-9)  # the nudge changes nothing else


@pytest.mark.parametrize("kind", [SWNNClassifier, SWNNRanker])
def test_scikit_learns_names_of_arguments(kind):
    y = classes(3)
    clf = kind(n_neighbors=5).fit(X=X[:200], y=y[:200])
    clf.partial_fit(X=X[200:], y=y[200:])
    assert clf.score(X=X, y=y) > 0.3


@pytest.mark.parametrize("given", [[0, 1, 1], [1, 0, 1, 0, 0], np.array([0, 1, 1])])
def test_repeated_classes_count_once(given):
    clf = SWNNClassifier().partial_fit([[1, 0], [0, 1]], [0, 1], classes=given)
    assert sorted(clf.classes_.tolist()) == [0, 1]
    assert clf.predict_proba([[1, 0]]).shape == (1, 2)


@pytest.mark.parametrize("size", [1, 59, 61, 99])
def test_feature_weights_of_another_width_are_refused_at_fit(size):
    rows = sp.random_array((20, 60), density=0.2, rng=RNG, format="csr")
    with pytest.raises(ValueError, match=rf"\b{size}\b.* features|features, but .*\b{size}\b"):
        SWNNClassifier().fit(rows, np.eye(20), feature_weights=np.ones(size))


def test_neighbours_come_in_the_order_of_scikit_learn():
    """At beta = 0 the similarity is the cosine, one minus the distance of scikit-learn's."""
    from sklearn.neighbors import NearestNeighbors

    its = NearestNeighbors(n_neighbors=4, metric="cosine").fit(X[:300])
    clf = SWNNClassifier(n_neighbors=4, beta=0).fit(X[:300], classes(3)[:300])
    distances, indices = its.kneighbors(X[300:])
    similarities, ids = found = clf.kneighbors(X[300:])
    assert found._fields == ("similarities", "ids")
    assert (found.similarities is similarities, found.ids is ids) == (True, True)
    near = similarities > 0  # scikit-learn goes on with rows that share nothing
    np.testing.assert_allclose(similarities[near], (1 - distances)[near], atol=1e-6)
    assert ids[near].tolist() == indices[near].tolist()
    indices, values = X[[300]].indices, X[[300]].data
    one = clf.session().kneighbors_one(indices, values)
    assert one._fields == found._fields
    assert (one.similarities.tolist(), one.ids.tolist()) == (
        similarities[0].tolist(),
        ids[0].tolist(),
    )
