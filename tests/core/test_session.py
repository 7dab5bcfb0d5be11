"""Sessions give what the classifier gives, one row at a time."""

import threading
import tracemalloc

import numpy as np
import oracle
import pytest
import scipy.sparse as sp

from swnn_kernels import Labels
from swnn_xp import SWNNClassifier

RNG = np.random.default_rng(5)
X = sp.random_array((400, 50), density=0.2, rng=RNG, format="csr")
Y = sp.random_array((400, 30), density=0.1, rng=RNG, format="csr") != 0
Q = sp.random_array((40, 50), density=0.2, rng=RNG, format="csr")


def one_by_one(session, k=5):
    rows = [Q[[i]] for i in range(Q.shape[0])]
    answers = [session.predict_one(row.indices, row.data, k) for row in rows]
    return np.asarray([a.labels for a in answers]), np.asarray([a.scores for a in answers])


def check_same(session, clf):
    for one, batch in zip(one_by_one(session), clf.predict_topk(Q, 5), strict=True):
        np.testing.assert_array_equal(one, batch)
    found = clf.kneighbors(Q)
    for i in range(Q.shape[0]):
        sims, ids = session.kneighbors_one(Q[[i]].indices, Q[[i]].data)
        np.testing.assert_array_equal(ids, found.ids[i])
        np.testing.assert_array_equal(sims, found.similarities[i])


@pytest.mark.parametrize(("alpha", "beta"), [(1, 1), (0, 0), (2, 1), (0.5, 1.5)])
def test_same_as_batch(alpha, beta):
    clf = SWNNClassifier(20, alpha, beta).fit(X, Y)
    check_same(clf.session(), clf)


def test_follows_the_model():
    clf = SWNNClassifier(20).fit(X[:300], Y[:300])
    session = clf.session()
    check_same(session, clf)
    clf.partial_fit(X[300:], Y[300:])
    check_same(session, clf)
    clf.remove(np.arange(0, 400, 3))
    check_same(session, clf)
    clf.compact()
    check_same(session, clf)
    clf.partial_fit(X[:7], Y[:7])
    check_same(session, clf)


def test_ids_are_not_copied_for_each_answer():
    """After rows were removed, ids differ from positions; looking one up needs no copy of all."""
    n = 200_000
    many = sp.csr_array((np.ones(n), np.arange(n) % 50, np.arange(n + 1)), shape=(n, 50))
    labels = sp.csr_array((np.ones(n), np.arange(n) % 3, np.arange(n + 1)), shape=(n, 3))
    clf = SWNNClassifier(5).fit(many, labels).remove([0, 1, 2]).compact()
    session = clf.session()
    assert session.kneighbors_one([0], [1.0]).ids.tolist() == [50, 100, 150, 200, 250]
    tracemalloc.start()
    try:
        session.kneighbors_one([7], [1.0])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < n, "the ids of all rows take 8 n bytes"


def test_sessions_in_threads():
    clf = SWNNClassifier(20).fit(X, Y)
    expected = clf.predict_topk(Q, 5)
    results = {}

    def work(name):
        results[name] = one_by_one(clf.session())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for labels, scores in results.values():
        np.testing.assert_array_equal(labels, expected.labels)
        np.testing.assert_array_equal(scores, expected.scores)
    assert len(results) == 8


def test_refuses():
    session = SWNNClassifier().fit(X, Y).session()
    for indices, values in [([50], [1.0]), ([-1], [1.0]), ([3, 3], [1, 1]), ([4, 3], [1, 1])]:
        with pytest.raises(ValueError, match="feature ids must be ascending"):
            session.predict_one(indices, values, 1)
    with pytest.raises(ValueError, match="values must be finite"):
        session.predict_one([3], [np.nan], 1)
    with pytest.raises(ValueError, match="of one length"):
        session.predict_one([3], [1.0, 2.0], 1)
    with pytest.raises(ValueError, match="k must be"):
        session.predict_one([3], [1.0], 0)
    assert session.predict_one([], [], 2).labels.tolist() == [-1, -1]


def test_needs_numba():
    with pytest.raises(ValueError, match="a session needs the backend 'numba', not 'numpy'"):
        SWNNClassifier(backend="numpy").fit(X, Y).session()


@pytest.mark.parametrize("n_segments", [1, 2])
@pytest.mark.parametrize("postings", [1, 40, 300, 10**6])
def test_a_session_with_a_cap_is_the_oracle(n_segments, postings):
    clf = in_segments(n_segments, 5)
    alive = np.flatnonzero(np.arange(clf.model_.n_positions) % 7)
    clf.remove(np.arange(0, clf.model_.n_positions, 7))
    session = clf.session(postings=postings)
    for query in (Q[[i]] for i in range(5)):
        sims, ids = session.kneighbors_one(query.indices, query.data)
        expected = oracle.capped(X.toarray()[alive], query.toarray()[0], 5, 1.0, postings)
        found = [(sim, i) for sim, i in zip(sims.tolist(), ids.tolist(), strict=True) if i >= 0]
        assert found == [(sim, alive[i]) for sim, i in expected]
    clf.compact()
    for query in (Q[[i]] for i in range(5)):
        for one, other in zip(
            session.predict_one(query.indices, query.data),
            clf.session(postings=postings).predict_one(query.indices, query.data), strict=True,
        ):  # fmt: skip
            np.testing.assert_array_equal(one, other)


def in_segments(n_segments, n_neighbors=20):
    clf = SWNNClassifier(n_neighbors).fit(X[:340], Y[:340])
    if n_segments == 2:
        clf.partial_fit(X[340:], Y[340:])
    assert len(clf.model_.segments) == n_segments
    return clf


@pytest.mark.parametrize("n_segments", [1, 2])
@pytest.mark.parametrize("k", [0, -1, 2.9, True, "2", None])
def test_k_is_a_count(n_segments, k):
    session = in_segments(n_segments).session()
    with pytest.raises(ValueError, match="k must be a whole number of at least 1, got"):
        session.predict_one([3], [1.0], k)
    assert session.predict_one([3], [1.0], np.int64(2)).labels.shape == (2,)


@pytest.mark.parametrize("postings", [0, 1.5, True, "2"])
def test_a_cap_is_a_count(postings):
    with pytest.raises(ValueError, match="postings must be a whole number of at least 1, got"):
        in_segments(1).session(postings=postings)


@pytest.mark.parametrize("n_segments", [1, 2])
def test_more_neighbours_than_rows(n_segments):
    endless = in_segments(n_segments, 10**12)
    for one, batch in zip(one_by_one(endless.session()), endless.predict_topk(Q, 5), strict=True):
        np.testing.assert_array_equal(one, batch)
    clf = in_segments(n_segments, 1000)
    check_same(clf.session(), clf)
    assert clf.session().kneighbors_one([3], [1.0]).ids.shape == (1000,)


def test_follows_the_backend():
    clf = in_segments(1)
    session = clf.session()
    for name in ("numpy", "nonsense"):
        clf.set_params(backend=name)
        with pytest.raises(ValueError, match=name):
            session.predict_one([3], [1.0])
    clf.set_params(backend="numpy").predict_topk(Q)
    clf.set_params(backend="numba")
    check_same(session, clf)


@pytest.mark.parametrize("n_segments", [1, 2])
def test_a_change_does_not_scan_all_labels_again(n_segments, monkeypatch):
    clf = in_segments(n_segments)
    sessions = [clf.session(), clf.session()]
    clf.predict_topk(Q)
    scanned, prepare = [], Labels.prepare
    monkeypatch.setattr(
        Labels, "prepare", lambda ptr, ids: scanned.append(np.size(ids)) or prepare(ptr, ids)
    )
    clf.remove([5])
    for session in sessions:
        session.predict_one([3], [1.0])
    assert sum(scanned) == 0


@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0, 0.5])
def test_probabilities_are_those_of_a_batch_to_the_last_bit(alpha):
    rng = np.random.default_rng(2)
    X = sp.random_array((60, 30), density=0.15, rng=rng, format="csr")
    Y = sp.csr_array((rng.random((60, 9)) < 0.3).astype(np.int8))
    clf = SWNNClassifier(n_neighbors=25, alpha=alpha).fit(X[:40], Y[:40])
    session = clf.session()
    for k in (1, 9, 2, 40):  # buffers grow in between
        batch = clf.topk_probabilities(X, k)
        for i in range(60):
            row = X[[i]]
            one = session.topk_probabilities_one(row.indices, row.data, k)
            for mine, its in zip(one, batch, strict=True):
                np.testing.assert_array_equal(mine, its[i])
    empty = session.topk_probabilities_one([], [], 3)
    assert empty.labels.tolist() == [-1] * 3
    assert empty.probabilities.tolist() == [0.0] * 3
