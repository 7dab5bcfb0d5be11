"""A session ranks as a batch does, to the bit: see tests/contract/test_ranker.py for the oracle."""

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from contract.problems import problems
from hypothesis import given, settings
from hypothesis import strategies as st
from learn.problems import rows_and_labels

from swnn_kernels.learn.scorer import Scorer
from swnn_xp import SWNNRanker

X, Y = rows_and_labels()


def answers(clf, Q, k, **options):
    session = clf.session(**options)
    ranked = []
    for query in sp.csr_array(Q):
        row = sp.csr_array(query.reshape(1, -1))
        row.sort_indices()
        ranked.append(session.predict_one(row.indices, row.data, k))
    return [np.asarray(part) for part in zip(*ranked, strict=True)]


def check_same(clf, Q, k):
    for mine, its in zip(answers(clf, Q, k), clf.predict_topk(Q, k), strict=True):
        np.testing.assert_array_equal(mine, its)


@settings(max_examples=40)
@given(problem=problems(), S=st.integers(1, 15), K=st.integers(1, 8), k=st.integers(1, 9))
def test_a_session_is_exact(problem, S, K, k):
    clf = SWNNRanker(n_neighbors=S, n_candidates=K).fit(problem.X, problem.Y)
    labels, scores = answers(clf, problem.Q, k)
    model = oracle.stored(clf)
    for row, query in enumerate(problem.Q):
        expected = oracle.ranked_topk(model, problem.X, problem.Y, query, k)
        assert (labels[row].tolist(), scores[row].tolist()) == expected


@pytest.mark.parametrize("k", [1, 5, 30])
def test_it_follows_the_model(k):
    clf = SWNNRanker(n_neighbors=9).fit(X[:60], Y[:60])
    session = clf.session()
    check_same(clf, X, k)
    for change in (
        lambda: clf.partial_fit(X[60:66], np.hstack([Y[60:66], np.ones((6, 1))])),
        lambda: clf.partial_fit(X[66:67], np.pad(Y[66:67], [(0, 0), (0, 1)])),
        lambda: clf.remove([0, 5, 62]),
        lambda: clf.compact(),
        lambda: clf.fit(X[:20], Y[:20, :3]),
    ):
        change()
        check_same(clf, X, k)
        at = np.flatnonzero(X[70])
        followed = session.predict_one(at, X[70, at], k)
        for mine, its in zip(followed, clf.predict_topk(X[70:71], k), strict=True):
            np.testing.assert_array_equal(mine, its[0])


def test_queries_longer_than_any_buffer():
    rng = np.random.default_rng(1)
    wide = np.zeros((20, 5000))
    wide[:, :15] = X[:20]
    clf = SWNNRanker(n_neighbors=5).fit(wide, Y[:20])
    Q = np.vstack([wide[:2], rng.random((2, 5000)), wide[2:4]])
    check_same(clf, Q, 4)


def test_a_refused_query_does_no_harm():
    clf = SWNNRanker(n_neighbors=9).fit(X, Y)
    session, at = clf.session(), np.flatnonzero(X[3])
    before = session.predict_one(at, X[3, at])
    for indices, values in [([3, 1], [1, 1]), ([15], [1]), ([-1], [1]), ([2], [np.nan])]:
        with pytest.raises(ValueError, match="feature ids|finite"):
            session.predict_one(indices, values)
    with pytest.raises(ValueError, match="k must be"):
        session.predict_one(at, X[3, at], 0)
    for mine, its in zip(session.predict_one(at, X[3, at]), before, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_other_backends_have_no_session():
    with pytest.raises(ValueError, match="a session needs the backend 'numba'"):
        SWNNRanker(n_neighbors=9, backend="numpy").fit(X, Y).session()


def test_dense_rows_and_walks_give_the_same():
    clf = SWNNRanker(n_neighbors=9).fit(X, Y)
    learned = clf.model_.ranking
    scorer = learned.scorer
    assert (scorer.dense_rows >= 0).any()
    assert scorer.dense.nbytes <= 6 * scorer.weights.size
    usual = clf.predict_topk(X, 7)
    ranker, labels = learned.checked_ranker, np.arange(learned.checked_ranker.modelled.size)
    # All walked; all in dense rows; half of the features looked up, the others added up.
    for n_columns, dense in ((32, labels[:0]), (32, labels), (8, labels)):
        other = Scorer.with_dense_rows(ranker, 15, n_columns, dense)
        assert (other.rest_labels.size > 0) == (n_columns < 15)
        learned.__dict__["scorer"] = other
        for mine, its in zip(clf.predict_topk(X, 7), usual, strict=True):
            np.testing.assert_array_equal(mine, its)
        check_same(clf, X, 7)
    assert Scorer.prepare(ranker, 15).dense.tolist() == scorer.dense.tolist()


def raise_memory_error(*_):
    raise MemoryError


@pytest.mark.parametrize("n_appended", [0, 3])  # appended rows are searched on their own
def test_a_session_goes_on_after_memory_was_short(monkeypatch, n_appended):
    clf = SWNNRanker(n_neighbors=9).fit(X[:60], Y[:60])
    if n_appended:
        clf.partial_fit(X[60 : 60 + n_appended], Y[60 : 60 + n_appended])
    session = clf.session()
    first, second = (np.flatnonzero(X[row]) for row in (0, 1))
    session.predict_one(first, X[0, first], 1)
    with monkeypatch.context() as patch:
        patch.setattr("swnn_kernels.learn.session.ThreadBuffers", raise_memory_error)
        with pytest.raises(MemoryError):
            session.predict_one(second, X[1, second], 30)
    for k in (1, 30):
        mine, its = session.predict_one(second, X[1, second], k), clf.predict_topk(X[[1]], k)
        np.testing.assert_array_equal(mine.labels, its.labels[0])
        np.testing.assert_array_equal(mine.scores, its.scores[0])
