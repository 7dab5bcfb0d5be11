"""Ranked labels with probabilities: the same numbers as the matrices hold, on every backend."""

import numpy as np
import pytest
import scipy.sparse as sp

from swnn_xp import SWNNClassifier, SWNNRanker

RNG = np.random.default_rng(4)
X = RNG.choice([0.0, 0.0, 0.0, 1.0, 2.0], (60, 12))
Y = (X @ (RNG.random((12, 7)) < 0.2) > 2).astype(int)
MANY = RNG.choice([0.0, 0.0, 0.0, 1.0, 2.0], (400, 12))
MANY_Y = (MANY @ (RNG.random((12, 7)) < 0.2) + RNG.random((400, 7)) > 2.5).astype(int)
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


def test_calibrated(ranker):
    """Probabilities are those of the stored steps, which are the same whatever has trained them."""
    clf = ranker(n_neighbors=9).fit(MANY, MANY_Y)
    arrays, meta = clf.model_.ranking.stored()
    on_numpy = SWNNRanker(n_neighbors=9, backend="numpy").fit(MANY, MANY_Y)
    expected, _ = on_numpy.model_.ranking.stored()
    ends, values = arrays["calibration_ends"].tolist(), arrays["calibration_values"].tolist()
    assert 1 < len(values) == len(ends) + 1
    for name, array in expected.items():
        np.testing.assert_array_equal(array, arrays[name])
    check(clf, 5)
    labels, scores, likely = clf.topk_probabilities(Q, k=7)
    for label, score, probability in zip(labels.flat, scores.flat, likely.flat, strict=True):
        at = sum(end <= score for end in ends)
        assert probability == (values[at] if label >= 0 else 0)
    for threshold in ("f1", 0.5, 0.3):
        predicted = clf.set_params(threshold=threshold).predict(Q)
        for row in range(len(Q)):
            chosen = (
                scores[row] >= meta["threshold"] if threshold == "f1" else likely[row] > threshold
            )
            chosen &= labels[row] >= 0
            assert set(predicted[[row]].indices.tolist()) == set(labels[row][chosen].tolist())


def test_calibrated_votes(classifier, tmp_path):
    clf = classifier(n_neighbors=9, calibrate=True, threshold="f1").fit(MANY, MANY_Y)
    plain = classifier(n_neighbors=9).fit(MANY, MANY_Y)
    steps = clf.model_.ranking.calibration
    check(clf, 5)
    shares = plain.topk_probabilities(Q, k=7)
    found = clf.topk_probabilities(Q, k=7)
    expected = [steps.values[sum(end <= share for end in steps.ends)] for share in shares[2].flat]
    np.testing.assert_array_equal(
        found.probabilities.ravel(), np.where(found.labels.ravel() >= 0, expected, 0)
    )
    predicted, likely = clf.predict(Q), plain.predict_proba(Q)
    assert np.array_equal(predicted.toarray() != 0, likely.toarray() >= steps.threshold)
    assert clf.explain(Q[0], 3).probability == clf.predict_proba(Q)[0, 3]
    clf.save(tmp_path / "model")
    again = SWNNClassifier.load(tmp_path / "model", verify=True)
    assert (again.calibrate, again.threshold) == (True, "f1")
    for mine, its in zip(again.topk_probabilities(Q), clf.topk_probabilities(Q), strict=True):
        np.testing.assert_array_equal(mine, its)
    with pytest.raises(ValueError, match="was calibrated for"):
        clf.set_params(n_neighbors=8).predict_proba(Q)
    with pytest.raises(ValueError, match="was fitted without calibrate=True"):
        plain.set_params(calibrate=True).predict_proba(Q)


def test_no_queries_and_bad_k(classifier, ranker):
    for make in (classifier, ranker):
        clf = make(n_neighbors=3).fit(X, Y)
        for part in clf.topk_probabilities(np.zeros((0, 12)), k=2):
            assert part.shape == (0, 2)
        with pytest.raises(ValueError, match="k must be"):
            clf.topk_probabilities(X, k=0)


def test_sessions_refuse_a_calibration_that_does_not_fit():
    plain, other = SWNNClassifier(9).fit(X, Y), SWNNClassifier(9, calibrate=True).fit(MANY, MANY_Y)
    for clf, message in (
        (plain.set_params(calibrate=True), "was fitted without calibrate=True"),
        (other.set_params(n_neighbors=3), "was calibrated for"),
    ):
        session = clf.session()
        assert session.predict_one([0], [1.0], 3).labels.shape == (3,)  # no probabilities in it
        with pytest.raises(ValueError, match=message):
            session.topk_probabilities_one([0], [1.0], 3)
