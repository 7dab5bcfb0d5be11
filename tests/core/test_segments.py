"""Rows appended one by one: few segments, little work, and the answers of one index."""

import itertools
import math

import numpy as np
import oracle
import pytest

from swnn_kernels.answer.joined import JoinedSessions
from swnn_kernels.vote import Labels, Voter, vote_batch
from swnn_xp import SWNNClassifier, SWNNRanker
from swnn_xp.backends.numba_ import NumbaIndex

RNG = np.random.default_rng(11)
# Few features and values: many rows are equally similar, within a segment and across segments.
X = RNG.integers(0, 2, (239, 6)).astype(float)
Y = RNG.integers(0, 2, (239, 9))
Q = RNG.integers(0, 3, (12, 6)).astype(float)
FIRST = 200


def appended_one_by_one(clf):
    clf.fit(X[:FIRST], Y[:FIRST])
    for i in range(FIRST, X.shape[0]):
        clf.partial_fit(X[[i]], Y[[i]])
    return clf


@pytest.mark.parametrize("alpha", [0, 1, 0.5])
@pytest.mark.parametrize("removed", [(), (0, 5, 121, 200, 238)])
def test_a_session_answers_like_the_oracle(alpha, removed):
    clf = appended_one_by_one(SWNNClassifier(10, alpha, 1))
    assert len(clf.model_.segments) > 2
    clf.remove(np.asarray(removed, int))
    session, rest = clf.session(), X.copy()
    rest[list(removed)] = 0  # like nothing
    for query in Q:
        at = np.flatnonzero(query)
        sims, ids = session.kneighbors_one(at, query[at])
        found = [(sim, i) for sim, i in zip(sims.tolist(), ids.tolist(), strict=True) if i >= 0]
        assert found == oracle.neighbours(rest, query, 10, 1)
        for k in (3, 7):
            one = session.predict_one(at, query[at], k)
            best = list(zip(one.labels.tolist(), one.scores.tolist(), strict=True))
            expected = oracle.topk(rest, Y, query, 10, alpha, 1, k)
            assert best[: len(expected)] == expected
            assert all(label == -1 for label, _ in best[len(expected) :])


def test_a_ranker_answers_like_one_index():
    clf = appended_one_by_one(SWNNRanker(10, calibrate=False))
    assert len(clf.model_.segments) > 2
    session = clf.session()
    several = [session.predict_one(np.flatnonzero(q), q[q != 0], 4) for q in Q]
    clf.compact()
    whole = [session.predict_one(np.flatnonzero(q), q[q != 0], 4) for q in Q]
    for one, other in zip(several, whole, strict=True):
        np.testing.assert_array_equal(one.labels, other.labels)
        np.testing.assert_array_equal(one.scores, other.scores)


def test_appending_indexes_a_row_seldom_again(monkeypatch):
    indexed, build = [], NumbaIndex.build.__func__

    def counted(cls, rows, placement):
        indexed.append(rows.n_rows)
        return build(cls, rows, placement)

    clf = SWNNClassifier(10).fit(X[:FIRST], Y[:FIRST])
    monkeypatch.setattr(NumbaIndex, "build", classmethod(counted))
    for i in range(FIRST, X.shape[0]):
        clf.partial_fit(X[[i]], Y[[i]])
        sizes = [segment.n_rows for segment in clf.model_.segments]
        assert sum(sizes) == i + 1
        assert all(a >= 4 * b for a, b in itertools.pairwise(sizes)), sizes
    n_new = X.shape[0] - FIRST
    assert len(indexed) == n_new
    assert sum(indexed) <= 5 * n_new * math.ceil(math.log(X.shape[0], 4))


def test_one_query_votes_like_a_batch():
    rng = np.random.default_rng(3)
    for _ in range(50):
        n_rows = int(rng.integers(1, 12))
        sizes = rng.integers(0, 4, n_rows)
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        ids = [rng.choice(6, size, replace=False) for size in sizes.tolist()]
        labels = Labels.prepare(indptr, np.concatenate([*ids, np.zeros(0, int)]).astype(np.int32))
        found = rng.permutation(n_rows)[: int(rng.integers(0, n_rows + 1))]
        near = np.full(n_rows, -1), np.zeros(n_rows)
        near[0][: found.size] = found
        near[1][: found.size] = np.sort(rng.integers(1, 4, found.size) / 4)[::-1]
        voter = Voter(labels, n_rows, 1.0)
        for k in (2, 9, 1):
            batch = vote_batch(labels, near[0][None, :], near[1][None, :], 1.0, k)
            for one, of_batch in zip(voter.rank_one(*near, k), batch, strict=True):
                np.testing.assert_array_equal(one, of_batch[0])


class Found:
    """What a session of a segment has found."""

    def __init__(self, ids, sims):
        self.answer, self.n_neighbors = (np.asarray(ids), np.asarray(sims)), len(ids)

    def kneighbors_one(self, indices, values):
        return self.answer


def test_of_equal_rows_the_smaller_ids_are_joined_first():
    parts = Found([3, 4, -1], [0.5, 0.25, 0.0]), Found([0, 7, 8], [0.75, 0.5, 0.5])
    ids, sims = JoinedSessions(parts, (0, 10)).kneighbors_one([], [])
    assert ids.tolist() == [10, 3, 17]
    assert sims.tolist() == [0.75, 0.5, 0.5]
    none = Found([-1, -1, -1], [0.0, 0.0, 0.0])
    assert JoinedSessions((none, none), (0, 10)).kneighbors_one([], [])[0].tolist() == [-1] * 3
