"""A ranked model scores as its stored integers say, to the last bit, on every backend."""

import hashlib

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from contract.problems import EXAMPLES, Problem, exact_exponents, problems
from hypothesis import given, settings
from hypothesis import strategies as st

FEW = settings(max_examples=max(2, EXAMPLES // 3), deadline=None)
RNG = np.random.default_rng(4)
X = RNG.choice([0.0, 0.0, 0.0, 1.0, 2.0], (60, 12))
Y = (X @ (RNG.random((12, 7)) < 0.2) > 2).astype(int)


def check_topk(clf, X, Y, Q, k):
    model = oracle.stored(clf)
    labels, scores = clf.predict_topk(Q, k=k)
    assert labels.shape == scores.shape == (len(Q), k)
    for row, query in enumerate(Q):
        expected = oracle.ranked_topk(model, X, Y, query, k)
        assert (labels[row].tolist(), scores[row].tolist()) == expected


@FEW
@given(
    problem=problems(),
    S=st.integers(1, 15),
    K=st.integers(1, 8),
    k=st.integers(1, 9),
    exponents=st.tuples(exact_exponents, exact_exponents),
    other=st.tuples(st.booleans(), st.sampled_from([0.0, 0.25, 3.0]), st.booleans()),
    search=st.sampled_from(["exact", "auto", "capped", 1, 4, 20]),
)
def test_scores_follow_from_the_stored_integers(
    ranker, problem: Problem, S, K, k, exponents, other, search
):
    alpha, beta = exponents
    clf = ranker(n_neighbors=S, alpha=alpha, beta=beta, n_candidates=K)
    clf.set_params(learn_weights=other[0], rare_labels=other[1], centroids=other[2], search=search)
    clf.fit(problem.X, problem.Y)
    check_topk(clf, problem.X, problem.Y, problem.Q, k)


@pytest.mark.parametrize("search", ["exact", 30, 100])
@pytest.mark.parametrize("centroids", [False, True])
def test_several_segments_removed_rows_and_new_labels(ranker, centroids, search):
    clf = ranker(n_neighbors=9, n_candidates=4, centroids=centroids, search=search)
    clf.fit(X[:48], Y[:48, :5])
    model = oracle.stored(clf)
    assert model[0]["modelled"].size == 5
    clf.partial_fit(X[48:55], Y[48:55]).partial_fit(X[55:56], Y[55:56])
    assert len(clf.model_.segments) > 1
    assert clf.n_labels_ == 7
    known = np.where(np.arange(56)[:, None] < 48, Y[:56] * (np.arange(7) < 5), Y[:56])
    check_topk(clf, X[:56], known, X[46:], 6)
    clf.remove([0, 7, 50])
    alive = np.setdiff1d(np.arange(56), [0, 7, 50])
    check_topk(clf, X[alive], known[alive], X[46:], 6)
    clf.compact()
    check_topk(clf, X[alive], known[alive], X[46:], 6)


def test_more_candidates_and_labels_than_there_are(ranker):
    clf = ranker(n_neighbors=2**31, n_candidates=2**40).fit(X, Y)
    assert clf.n_candidates_ == 7
    check_topk(clf, X, Y, X[:5], 20)


@pytest.mark.parametrize("search", ["exact", 30])
@pytest.mark.parametrize("centroids", [False, True])
@pytest.mark.parametrize("budget", [1, 10_000, 300_000])
def test_blocks_and_threads_do_not_change_the_answer(ranker, budget, centroids, search):
    n = 15 if budget == 1 else 30  # the smallest budget works on one row at a time
    few, theirs = X[:n], Y[:n]
    one = ranker(n_neighbors=9, centroids=centroids, search=search).fit(few, theirs)
    other = ranker(
        n_neighbors=9, centroids=centroids, search=search, memory_budget=budget, n_jobs=3
    )
    other.fit(few, theirs)
    assert stored_bytes(one) == stored_bytes(other)
    for mine, its in zip(one.predict_topk(few, 5), other.predict_topk(few, 5), strict=True):
        np.testing.assert_array_equal(mine, its)


def stored_bytes(clf):
    arrays, meta = oracle.stored(clf)
    return {name: array.tobytes() for name, array in arrays.items()}, meta


@pytest.mark.parametrize("params", [{}, {"n_neighbors": 9, "centroids": True}])
def test_all_backends_train_the_same_model(ranker, params):
    from swnn_xp import SWNNRanker

    expected = SWNNRanker(**params, backend="numpy").fit(X, Y)
    assert stored_bytes(ranker(**params).fit(X, Y)) == stored_bytes(expected)


def test_scores_as_matrices(ranker):
    clf = ranker(n_neighbors=9, n_candidates=4).fit(X, Y)
    Q = np.vstack([X[:20], np.zeros((1, 12))])
    labels, scores = clf.predict_topk(Q, k=4)
    positive, likely = clf.decision_function(Q), clf.predict_proba(Q)
    predicted = clf.predict(Q)
    for matrix in (positive, likely, predicted):
        assert matrix.shape == (21, 7)
    for row in range(21):
        found = labels[row][labels[row] >= 0]
        mine = dict(zip(labels[row].tolist(), scores[row].tolist(), strict=True))
        assert set(positive[[row]].indices.tolist()) == set(found.tolist())
        order = sorted(found.tolist(), key=lambda label: (-positive[row, label], label))
        assert order == found.tolist()
        for label in range(7):
            score = mine.get(label, -9.0) if label in found else -9.0
            assert likely[row, label] == min(1.0, max(0.0, (score + 1) / 2))
            assert predicted[row, label] == (score > 0)
    # Sparse matrices of CuPy hold floats only: queries from the device get such a matrix.
    assert predicted.dtype in (np.int8, np.int64) or clf.backend_ == "cupy"
    assert not np.signbit(likely.data).any()


def test_edges(ranker):
    clf = ranker(n_neighbors=3).fit(np.eye(3), np.zeros((3, 0)))
    assert clf.predict_topk(np.eye(3), k=2).labels.tolist() == [[-1, -1]] * 3
    assert clf.predict(np.eye(3)).shape == (3, 0)
    clf.partial_fit(np.eye(3), np.eye(3, 2))  # labels that came after the training
    assert clf.predict_topk(np.eye(3), k=2).labels.tolist() == [[0, -1], [1, -1], [-1, -1]]
    clf = ranker(n_neighbors=3).fit(X, Y)
    labels, scores = clf.predict_topk(np.zeros((0, 12)), k=2)
    assert labels.shape == scores.shape == (0, 2)
    assert clf.predict_proba(np.zeros((0, 12))).shape == (0, 7)
    labels, scores = clf.predict_topk(np.zeros((1, 12)), k=2)
    assert (labels.tolist(), scores.tolist()) == ([[-1, -1]], [[0.0, 0.0]])
    narrow = np.pad(X[:4, :5], [(0, 0), (0, 7)])  # fewer features are fine
    clf.set_params(allow_narrower=True)
    for mine, its in zip(clf.predict_topk(X[:4, :5]), clf.predict_topk(narrow), strict=True):
        np.testing.assert_array_equal(mine, its)
    with pytest.raises(ValueError, match="X has 13 features"):
        clf.predict_topk(np.ones((1, 13)))


@pytest.mark.parametrize(("mmap", "centroids"), [(True, False), (False, False), (True, True)])
def test_round_trip(ranker, tmp_path, mmap, centroids):
    import swnn_xp

    names = [f"label {i}" for i in range(7)]
    clf = ranker(n_neighbors=np.int64(9), C=np.float64(0.5), centroids=centroids).fit(
        sp.csr_array(X), Y, label_names=names
    )
    clf.remove([3]).save(tmp_path / "model")
    again = swnn_xp.load(tmp_path / "model", mmap=mmap, verify=True)
    assert type(again) is swnn_xp.SWNNRanker
    assert again.label_names_ == names
    assert stored_bytes(again) == stored_bytes(clf)
    assert again.centroids_ == centroids
    for backend in ("numpy", "numba"):
        other = swnn_xp.load(tmp_path / "model", mmap=mmap, backend=backend)
        for mine, its in zip(clf.predict_topk(X), other.predict_topk(X), strict=True):
            np.testing.assert_array_equal(mine, its)


def test_every_python_and_numpy_trains_the_same_model(ranker):
    """The digest was recorded on Python 3.11 with NumPy 2.4; a new way of training renews it."""
    arrays, _ = stored_bytes(ranker(rare_labels=0.25).fit(X, Y))
    digest = hashlib.sha256(b"".join(arrays[name] for name in sorted(arrays))).hexdigest()
    assert digest[:16] == "57242fda52e9fc84"
