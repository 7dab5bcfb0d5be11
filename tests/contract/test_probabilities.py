"""Ranked labels with probabilities: the same numbers as the matrices hold, on every backend."""

import numpy as np
import pytest
import scipy.sparse as sp

RNG = np.random.default_rng(4)
X = RNG.choice([0.0, 0.0, 0.0, 1.0, 2.0], (60, 12))
Y = (X @ (RNG.random((12, 7)) < 0.2) > 2).astype(int)
Q = np.vstack([X[:20], np.zeros((1, 12))])


def check(clf, k):
    labels, scores, likely = clf.topk_probabilities(Q, k=k)
    for mine, its in zip((labels, scores), clf.predict_topk(Q, k), strict=True):
        np.testing.assert_array_equal(mine, its)
    matrix = clf.predict_proba(Q)
    for row in range(len(Q)):
        for label, probability in zip(labels[row], likely[row], strict=True):
            assert probability == (matrix[row, label] if label >= 0 else 0)
    assert np.all(likely[:, 1:] <= likely[:, :-1])
    assert not np.signbit(likely).any()
    if clf.backend_ == "numba":
        check_session(clf, k)


def check_session(clf, k):
    session, batch = clf.session(), clf.topk_probabilities(Q, k=k)
    for row in range(len(Q)):
        query = sp.csr_array(Q[[row]])
        one = session.topk_probabilities_one(query.indices, query.data, k)
        for mine, its in zip(one, batch, strict=True):
            np.testing.assert_array_equal(mine, its[row])


@pytest.mark.parametrize("k", [1, 4, 9])
def test_published(classifier, k):
    clf = classifier(n_neighbors=9).fit(X[:50], Y[:50])
    check(clf, k)
    check(clf.partial_fit(X[50:], Y[50:]).remove([0, 3, 52]), k)


@pytest.mark.parametrize("k", [1, 4, 9])
def test_ranked(ranker, k):
    clf = ranker(n_neighbors=9, n_candidates=4).fit(X[:50], Y[:50])
    check(clf, min(k, 4))
    check(clf.partial_fit(X[50:], Y[50:]).remove([0, 3, 52]), min(k, 4))


def test_no_queries_and_bad_k(classifier, ranker):
    for make in (classifier, ranker):
        clf = make(n_neighbors=3).fit(X, Y)
        for part in clf.topk_probabilities(np.zeros((0, 12)), k=2):
            assert part.shape == (0, 2)
        with pytest.raises(ValueError, match="k must be"):
            clf.topk_probabilities(X, k=0)
