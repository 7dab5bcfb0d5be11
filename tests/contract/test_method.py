"""Every backend gives what the definitions say, to the last bit."""

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from contract.problems import EXAMPLES, Problem, exact_exponents, exponents, problems
from hypothesis import given, settings
from hypothesis import strategies as st

SMALL = settings(max_examples=EXAMPLES, deadline=None)


def padded(pairs, places, missing=-1):
    ids = [i for i, _ in pairs] + [missing] * (places - len(pairs))
    values = [v for _, v in pairs] + [0.0] * (places - len(pairs))
    return ids, values


@SMALL
@given(problem=problems(), S=st.integers(1, 15), beta=exact_exponents)
def test_neighbours_are_exact(classifier, problem: Problem, S, beta):
    sims, ids = classifier(n_neighbors=S, beta=beta).fit(problem.X, problem.Y).kneighbors(problem.Q)
    for row, query in enumerate(problem.Q):
        found = [(i, sim) for sim, i in oracle.neighbours(problem.X, query, S, beta)]
        assert (ids[row].tolist(), sims[row].tolist()) == padded(found, S)


@SMALL
@given(
    problem=problems(),
    S=st.integers(1, 15),
    k=st.integers(1, 8),
    alpha=exact_exponents,
    beta=exact_exponents,
)
def test_ranking_is_exact(classifier, problem: Problem, S, k, alpha, beta):
    clf = classifier(n_neighbors=S, alpha=alpha, beta=beta).fit(problem.X, problem.Y)
    labels, scores = clf.predict_topk(problem.Q, k=k)
    for row, query in enumerate(problem.Q):
        best = oracle.topk(problem.X, problem.Y, query, S, alpha, beta, k)
        assert (labels[row].tolist(), scores[row].tolist()) == padded(best, k)


@SMALL
@given(problem=problems(), S=st.integers(1, 15), alpha=exponents, beta=exponents)
def test_any_exponent_to_1e_12(classifier, problem: Problem, S, alpha, beta):
    clf = classifier(n_neighbors=S, alpha=alpha, beta=beta).fit(problem.X, problem.Y)
    sims, _ = clf.kneighbors(problem.Q)
    scores = clf.decision_function(problem.Q).toarray()
    for row, query in enumerate(problem.Q):
        found = [sim for sim, _ in oracle.neighbours(problem.X, query, len(problem.X), beta)]
        expected = found[:S] + [0.0] * (S - len(found))
        np.testing.assert_allclose(sims[row], expected, rtol=1e-12, atol=0)
        if beta not in (0, 1, 2) and len(found) > S and np.isclose(found[S - 1], found[S], 1e-12):
            continue  # which of the two is the last neighbour may differ between libraries
        votes, _ = oracle.scores(problem.X, problem.Y, query, S, alpha, beta)
        wanted = [votes.get(label, 0) / 2.0**40 for label in range(problem.Y.shape[1])]
        # A weight that differs in its last place may round to the next multiple of 2**-40.
        np.testing.assert_allclose(scores[row], wanted, rtol=1e-12, atol=1e-12)


@SMALL
@given(problem=problems(), S=st.integers(1, 15), alpha=exact_exponents, beta=exact_exponents)
def test_scores_and_probabilities(classifier, problem: Problem, S, alpha, beta):
    clf = classifier(n_neighbors=S, alpha=alpha, beta=beta).fit(problem.X, problem.Y)
    scores, likely = clf.decision_function(problem.Q), clf.predict_proba(problem.Q)
    predicted = clf.predict(problem.Q)
    assert scores.shape == likely.shape == predicted.shape == (len(problem.Q), problem.Y.shape[1])
    for row, query in enumerate(problem.Q):
        table, total = oracle.scores(problem.X, problem.Y, query, S, alpha, beta)
        for label in range(problem.Y.shape[1]):
            score = table.get(label, 0)
            assert scores[row, label] == score / 2.0**40
            share = score / total if total else 0.0
            assert likely[row, label] == share
            assert predicted[row, label] == (share > 0.5)


def test_worked_example_of_the_paper(classifier):
    X = np.zeros((5, 9))
    X[0, [1, 2, 4]] = 1
    X[1:, [1, 2, 4, 5, 8]] = 1
    Y = np.zeros((5, 7))
    Y[0, [1, 2]] = 1
    Y[1:, [3, 5, 6]] = 1
    query = X[:1]

    def best(alpha, beta):
        clf = classifier(n_neighbors=5, alpha=alpha, beta=beta).fit(X, Y)
        return clf.predict_topk(query, k=5)

    labels, scores = best(1, 0)
    assert labels.tolist() == [[3, 5, 6, 1, 2]]
    assert scores[0] == pytest.approx([3.098, 3.098, 3.098, 1, 1], abs=1e-3)
    labels, scores = best(1, 1)
    assert labels.tolist() == [[3, 5, 6, 1, 2]]
    assert scores[0] == pytest.approx([1.859, 1.859, 1.859, 1, 1], abs=1e-3)
    for alpha, beta, flipped in [
        (1, 2.21, False),
        (1, 2.22, True),
        (1.8, 1, False),
        (1.82, 1, True),
        (5.42, 0, False),
        (5.44, 0, True),
    ]:
        assert (best(alpha, beta)[0][0, 0] == 1) == flipped


def test_ties_go_to_the_smaller_id(classifier):
    X = np.tile([[1.0, 2.0, 0.0]], (9, 1))
    Y = np.ones((9, 4))
    clf = classifier(n_neighbors=4).fit(X, Y)
    assert clf.kneighbors(X[:1]).ids.tolist() == [[0, 1, 2, 3]]
    assert clf.predict_topk(X[:1], k=3).labels.tolist() == [[0, 1, 2]]


def test_edges(classifier):
    X, Y = np.asarray([[1.0, 0.0], [0.0, 0.0]]), np.asarray([[1], [0]])
    clf = classifier(n_neighbors=3).fit(X, Y)
    sims, ids = clf.kneighbors([[0.0, 0.0], [0.0, 5.0], [2.0, 0.0]])
    assert ids.tolist() == [[-1, -1, -1], [-1, -1, -1], [0, -1, -1]]
    assert sims.tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 0]]
    labels, scores = clf.predict_topk(np.zeros((0, 2)), k=2)
    assert labels.shape == scores.shape == (0, 2)
    assert clf.kneighbors(np.zeros((0, 2))).ids.shape == (0, 3)
    assert clf.predict_proba(np.zeros((0, 2))).shape == (0, 1)
    clf.set_params(allow_narrower=True)
    assert clf.predict_topk([[3.0]], k=2).labels.tolist() == [[0, -1]]


def test_no_labels_at_all(classifier):
    clf = classifier(n_neighbors=2).fit(np.eye(3), np.zeros((3, 0)))
    assert clf.predict_topk(np.eye(3), k=2).labels.tolist() == [[-1, -1]] * 3
    assert clf.predict(np.eye(3)).shape == (3, 0)


def test_a_weight_that_rounds_to_nothing_still_votes(classifier):
    X = np.asarray([[1.0, 10.0]])
    clf = classifier(n_neighbors=1, alpha=40.0, beta=0.0).fit(X, [[1]])
    labels, scores = clf.predict_topk([[1.0, 0.0]], k=1)
    assert (labels.tolist(), scores.tolist()) == ([[0]], [[0.0]])


def test_blocks_do_not_change_the_answer(classifier):
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 40), density=0.2, rng=rng, format="csr")
    Y = sp.random_array((300, 30), density=0.1, rng=rng, format="csr") != 0
    one = classifier(n_neighbors=20).fit(X, Y)
    many = classifier(n_neighbors=20, memory_budget=10_000).fit(X, Y)
    Q = X[:12]  # each a block of its own
    for first, second in zip(one.predict_topk(Q, 7), many.predict_topk(Q, 7), strict=True):
        np.testing.assert_array_equal(first, second)
    for first, second in zip(one.kneighbors(Q), many.kneighbors(Q), strict=True):
        np.testing.assert_array_equal(first, second)
    assert (one.predict_proba(Q) != many.predict_proba(Q)).nnz == 0


def test_overlaps_above_16_bits(classifier):
    wide = 70_000
    X = sp.csr_array(np.vstack([np.ones(wide), np.r_[np.ones(10), np.zeros(wide - 10)]]))
    sims, ids = classifier(n_neighbors=2).fit(X, np.eye(2)).kneighbors(X)
    assert ids.tolist() == [[0, 1], [1, 0]]
    unit = int(np.rint(2.0**22 / np.sqrt(wide * 2.0**44) * 2**23))
    assert sims[0, 0] == wide * unit**2 * 2.0**-46


def test_close_to_real_arithmetic(classifier):
    rng = np.random.default_rng(3)
    X = np.abs(rng.normal(size=(200, 60))) * (rng.random((200, 60)) < 0.3)
    Q = np.abs(rng.normal(size=(20, 60))) * (rng.random((20, 60)) < 0.3)
    sims, ids = classifier(n_neighbors=200, beta=0.0).fit(X, np.eye(200)).kneighbors(Q)
    lengths = np.linalg.norm(Q, axis=1)[:, None] * np.linalg.norm(X, axis=1)
    true = (Q @ X.T) / np.where(lengths > 0, lengths, 1)
    found = ids >= 0
    error = np.abs(np.take_along_axis(true, np.maximum(ids, 0), axis=1) - sims)[found]
    assert error.max() < 1e-6
