"""What training does where there is little to learn from: defined, and no error."""

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from learn.problems import rows_and_labels

from swnn_xp import LearnedWeights, SWNNClassifier, SWNNRanker

X, Y = rows_and_labels(30, 8, 4)
CASES = {
    "usual": (X, Y),
    "no labels at all": (X, np.zeros((30, 4))),
    "no label columns": (X, np.zeros((30, 0))),
    "one label, always right": (X, np.ones((30, 1))),
    "a label on every row": (X, np.hstack([np.ones((30, 1)), Y])),
    "all-zero rows": (np.zeros((30, 8)), Y),
    "no features": (np.zeros((30, 0)), Y),
    "an all-zero row": (np.vstack([X, np.zeros(8)]), np.vstack([Y, np.ones(4)])),
    "one row": (X[:1], Y[:1]),
    "two rows": (X[:2], np.eye(2)),
    "nothing but copies": (np.repeat(X[:1], 9, axis=0), np.repeat(Y[:1], 9, axis=0)),
    "one row, different labels": (np.repeat(X[:1], 9, axis=0), np.eye(9)),
    "labels of one row each": (X, np.eye(30)),
    "rows without neighbours": (np.eye(8), np.tile(np.eye(2), (4, 1))),
    "huge and tiny values": (np.where(X > 1, 1e300, X * 1e-300), Y),
    "negative values": (-X, Y),
}


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("case", CASES)
def test_it_trains_and_ranks_as_stored(case, weighted):
    rows, labels = CASES[case]
    clf = SWNNRanker(n_neighbors=7, learn_weights=weighted).fit(rows, labels)
    n_labels = labels.shape[1]
    assert clf.n_candidates_ == max(1, min(100, n_labels))
    assert 0 <= clf.candidate_recall_ <= 1
    if weighted:
        assert np.all((clf.feature_weights_ > 0) & (clf.feature_weights_ < np.inf))
        assert clf.feature_weights_.shape == (rows.shape[1],)
    Q = np.vstack([rows[:6], np.zeros((1, rows.shape[1]))])
    ranked, scores = clf.predict_topk(Q, k=5)
    model = oracle.stored(clf)
    for row, query in enumerate(Q):
        expected = oracle.ranked_topk(model, rows, labels, query, 5)
        assert (ranked[row].tolist(), scores[row].tolist()) == expected
    assert (ranked[-1] == -1).all()
    assert clf.predict_proba(Q).shape == clf.predict(Q).shape == (len(Q), n_labels)


@pytest.mark.parametrize("case", CASES)
def test_feature_weights_are_usable(case):
    rows, labels = CASES[case]
    learned = LearnedWeights(n_neighbors=7).fit(rows, labels)
    assert np.all((learned.feature_weights_ > 0) & (learned.feature_weights_ < np.inf))
    scaled = learned.transform(rows)
    assert scaled.shape == rows.shape
    assert np.isfinite(scaled.data).all()


def test_a_label_of_one_row_competes_by_its_votes():
    labels = np.zeros((30, 5), int)
    labels[:, :4], labels[11] = Y, [0, 0, 0, 0, 1]
    clf = SWNNRanker(n_neighbors=5, C=0.3, vote_weight=0.6).fit(X, labels)
    assert 4 in clf.predict_topk(X[11:12], k=5).labels[0]


def test_copies_do_not_give_labels_away():
    """If copies voted for each other, labels without any rule would seem easy to find."""
    rng = np.random.default_rng(0)
    rows, labels = rng.random((30, 8)), (rng.random((30, 40)) < 0.05).astype(int)
    twice = SWNNRanker(n_neighbors=5).fit(np.vstack([rows, rows]), np.vstack([labels, labels]))
    assert twice.candidate_recall_ < 0.5


@pytest.mark.parametrize("backend", ["numba", "numpy"])
def test_huge_values_with_feature_weights(backend):
    rows = np.asarray([[1e300, 1e-300, 0], [1e-300, 1e-300, 0], [0, 1e300, 1e300]] * 4)
    labels = np.asarray([[1, 0], [0, 1], [1, 1]] * 4)
    clf = SWNNRanker(n_neighbors=4, backend=backend).fit(rows, labels)
    model = oracle.stored(clf)
    ranked, scores = clf.predict_topk(rows[:3], k=2)
    for row in range(3):
        expected = oracle.ranked_topk(model, rows, labels, rows[row], 2)
        assert (ranked[row].tolist(), scores[row].tolist()) == expected


def test_queries_of_another_width():
    clf = SWNNRanker(n_neighbors=5, allow_narrower=True).fit(X, Y)
    narrow = clf.predict_topk(X[:3, :4])
    padded = clf.predict_topk(np.pad(X[:3, :4], [(0, 0), (0, 4)]))
    for mine, its in zip(narrow, padded, strict=True):
        np.testing.assert_array_equal(mine, its)
    for call in (clf.predict_topk, clf.predict_proba, lambda Q: clf.explain(Q, 0)):
        with pytest.raises(ValueError, match="X has 9 features, but SWNNRanker is expecting 8"):
            call(np.ones((1, 9)))
    weights = LearnedWeights(n_neighbors=5, allow_narrower=True).fit(X, Y)
    assert weights.transform(X[:3, :4]).shape == (3, 8)
    with pytest.raises(ValueError, match="X has 9 features"):
        weights.transform(np.ones((1, 9)))


def test_what_is_refused():
    for params, message in [
        ({"C": 0}, "C must be above 0"),
        ({"C": "none"}, "C must be"),
        ({"vote_weight": -1}, "vote_weight must be"),
        ({"n_candidates": 0}, "n_candidates must be"),
        ({"n_neighbors": 2.5}, "n_neighbors must be"),
        ({"learn_weights": 1}, "learn_weights must be True or False"),
        ({"random_state": -1}, "random_state must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            SWNNRanker(**params).fit(X, Y)
    with pytest.raises(ValueError, match="X has 30 rows but y has 29"):
        SWNNRanker().fit(X, Y[:29])
    with pytest.raises(ValueError, match="X has no rows"):
        SWNNRanker().fit(X[:0], Y[:0])
    for unfitted in (SWNNRanker(), LearnedWeights()):
        with pytest.raises(ValueError, match="not fitted yet"):
            (unfitted.predict_topk if isinstance(unfitted, SWNNRanker) else unfitted.transform)(X)


def test_given_feature_weights_of_the_classifier_are_the_rankers():
    """The published method with learned weights: scaled outside or inside, nearly the same."""
    weights = LearnedWeights(n_neighbors=5).fit(X, Y)
    inside = SWNNClassifier(5).fit(X, Y, feature_weights=weights.feature_weights_)
    outside = SWNNClassifier(5).fit(weights.transform(X), Y)
    mine, its = inside.kneighbors(X), outside.kneighbors(weights.transform(X))
    np.testing.assert_allclose(mine.similarities, its.similarities, atol=1e-6)
    sparse = weights.transform(sp.csr_array(X))
    assert (sparse != weights.transform(X)).nnz == 0
