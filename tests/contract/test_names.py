"""Labels found by name score as the stored integers say, to the last bit, on every backend."""

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from contract.problems import EXAMPLES, Problem, problems
from contract.test_ranker import check_topk
from hypothesis import given, settings
from hypothesis import strategies as st

from swnn_xp import SWNNRanker

FEW = settings(max_examples=max(2, EXAMPLES // 3), deadline=None)
RNG = np.random.default_rng(11)
X = RNG.choice([0.0, 0.0, 0.0, 1.0, 2.0], (60, 12))
Y = (X @ (RNG.random((12, 9)) < 0.2) > 2).astype(int)
Y[:, 7:] = 0  # labels that no row has
Z = (RNG.random((14, 12)) < 0.2).astype(int)
OWNERS = np.concatenate([np.arange(9), RNG.integers(0, 9, 5)])
NAMED = {"label_features": sp.csr_array(Z), "label_of": OWNERS}


@FEW
@given(problem=problems(), seed=st.integers(0, 100), centroids=st.booleans(), k=st.integers(1, 9))
def test_scores_follow_from_the_stored_integers(ranker, problem: Problem, seed, centroids, k):
    rng = np.random.default_rng(seed)
    n_labels, n_features = problem.Y.shape[1], problem.X.shape[1]
    names = (rng.random((n_labels + 3, n_features)) < 0.3).astype(int)
    owners = np.concatenate([np.arange(n_labels), rng.integers(0, n_labels, 3)])
    clf = ranker(n_neighbors=4, n_candidates=3, centroids=centroids)
    clf.fit(problem.X, problem.Y, label_features=names, label_of=owners)
    check_topk(clf, problem.X, problem.Y, problem.Q, k)


def fitted(ranker, **params):
    return ranker(n_neighbors=9, n_candidates=3, **params).fit(X, Y, **NAMED)


def test_labels_without_rows_are_listed(ranker):
    clf = fitted(ranker)
    check_topk(clf, X, Y, X, 9)
    found = clf.predict_topk(X, k=9).labels
    assert {7, 8} <= set(found.ravel().tolist())


@pytest.mark.parametrize("budget", [1, 10_000])
def test_blocks_and_threads_do_not_change_the_answer(ranker, budget):
    one = fitted(ranker).predict_topk(X[:20])
    many = fitted(ranker, memory_budget=budget, n_jobs=3).predict_topk(X[:20])
    assert np.array_equal(one.labels, many.labels)
    assert np.array_equal(one.scores, many.scores)


def test_new_labels_and_rows(ranker):
    clf = fitted(ranker)
    clf.add_labels(label_features=np.eye(12, dtype=int)[[3, 5, 5]], label_of=[0, 1, 1])
    assert clf.n_labels_ == 11
    known = np.pad(Y, ((0, 0), (0, 2)))
    check_topk(clf, X, known, X[:20], 11)
    assert set(clf.predict_topk(X, k=11).labels.ravel().tolist()) >= {7, 8, 9, 10}
    more = np.pad(Y[:5], ((0, 0), (0, 3)))
    more[:, 11] = 1
    clf.partial_fit(X[:5], more, label_features=np.eye(12, dtype=int)[[1]])
    known = np.concatenate([np.pad(known, ((0, 0), (0, 1))), more])
    check_topk(clf, np.concatenate([X, X[:5]]), known, X[:20], 12)
    clf.remove([0, 61]).compact()
    alive = np.setdiff1d(np.arange(65), [0, 61])
    check_topk(clf, np.concatenate([X, X[:5]])[alive], known[alive], X[:20], 12)


def test_a_saved_model_answers_alike(ranker, tmp_path):
    clf = fitted(ranker)
    clf.save(tmp_path / "model")
    loaded = SWNNRanker.load(tmp_path / "model", verify=True)
    check_topk(loaded, X, Y, X[:20], 9)
    assert np.array_equal(loaded.predict_topk(X).scores, clf.predict_topk(X).scores)


def test_explanations_add_up(ranker):
    clf, seen = fitted(ranker), 0
    for row in X[:20]:
        best = clf.predict_topk(row[None], k=9)
        for label, score in zip(best.labels[0].tolist(), best.scores[0].tolist(), strict=True):
            if label < 0:
                continue
            found = clf.explain(row[None], label)
            parts = {part.name: part for part in found.evidence}
            assert found.vote + sum(p.score for p in parts.values()) + found.model == score
            if "names" in parts:
                seen += 1
                has = set(np.flatnonzero(row).tolist())
                words = {feature.feature for feature in parts["names"].features}
                own = [set(np.flatnonzero(Z[i]).tolist()) for i in np.flatnonzero(OWNERS == label)]
                assert any(words == has & name for name in own)
    assert seen > 20


def test_relearning_everything_is_fitting_again(ranker):
    clf = fitted(ranker).remove([3, 9])
    alive = np.setdiff1d(np.arange(60), [3, 9])
    again = ranker(n_neighbors=9, n_candidates=3).fit(X[alive], Y[alive], **NAMED)
    clf.relearn("all")
    assert np.array_equal(clf.predict_topk(X).scores, again.predict_topk(X).scores)


def test_relearning_labels_counts_their_rows(ranker):
    clf = fitted(ranker).partial_fit(X[:6], np.repeat(np.eye(9, dtype=int)[[7]], 6, axis=0))
    clf.relearn()
    assert oracle.stored(clf)[0]["names_counts"].tolist() == clf.label_counts_.tolist()
    known = np.concatenate([Y, np.repeat(np.eye(9, dtype=int)[[7]], 6, axis=0)])
    check_topk(clf, np.concatenate([X, X[:6]]), known, X[:20], 9)


def test_a_compressed_model_keeps_the_names(ranker):
    clf = fitted(ranker).compress(0.5)
    assert {7, 8} & set(clf.predict_topk(X, k=9).labels.ravel().tolist())
