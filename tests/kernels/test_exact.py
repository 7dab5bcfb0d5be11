"""Every kernel returns what the dense oracle returns, to the bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import dense
from swnn_kernels import HybridIndex, Labels, Session, Settings, rank, search

METHODS = ("exhaustive", "pruned", "auto")
CUTS = ({"frequent": 2.0}, {"frequent": 0.2, "fewest": 2}, {"frequent": 0.0, "fewest": 1})


@st.composite
def problems(draw):
    """Small training rows and queries full of ties, zeros and negative values."""
    n_rows, n_features = draw(st.integers(0, 40)), draw(st.integers(1, 12))
    levels = draw(st.sampled_from([(0, 1), (0, 0, 1, 2), (0, 0, 0, -1, 1, 3), (0, 1e-9, 1, -2.5)]))
    seed = draw(st.integers(0, 2**31))
    rng = np.random.default_rng(seed)
    rows = rng.choice(levels, (n_rows, n_features)).astype(float)
    if n_rows and draw(st.booleans()):
        rows = rows[rng.integers(0, max(1, n_rows // 4), n_rows)]
    queries = rng.choice(levels, (3, n_features)).astype(float)
    if n_rows:
        queries[1] = rows[-1]
    return rows, queries, rng


def build(rows, cut):
    return HybridIndex.build(dense.canonical(rows), **cut)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=60, deadline=None)
@given(
    problem=problems(),
    cut=st.sampled_from(CUTS),
    n_neighbors=st.sampled_from([1, 2, 5, 60]),
    beta=st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.7]),
    some_removed=st.booleans(),
)
def test_search_is_the_oracle(method, problem, cut, n_neighbors, beta, some_removed):
    rows, queries, rng = problem
    removed = rng.random(len(rows)) < 0.3 if some_removed else None
    index, canonical = build(rows, cut), dense.canonical(queries)
    ids, sims = search(index, canonical, n_neighbors, beta, removed=removed, method=method)
    for q, query in enumerate(queries):
        expected_ids, expected_sims = dense.neighbours(rows, query, n_neighbors, beta, removed)
        if beta in (0.0, 1.0, 2.0):
            assert ids[q].tolist() == expected_ids
            assert sims[q].tolist() == expected_sims
        else:
            np.testing.assert_allclose(sims[q], expected_sims, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=40, deadline=None)
@given(
    problem=problems(),
    cut=st.sampled_from(CUTS),
    alpha=st.sampled_from([0.0, 1.0, 2.0]),
    k=st.sampled_from([1, 3, 30]),
)
def test_rank_and_session_are_the_oracle(method, problem, cut, alpha, k):
    rows, queries, rng = problem
    sets = [sorted(set(rng.integers(0, 10, rng.integers(0, 5)).tolist())) for _ in rows]
    labels, settings = dense.labels_of(sets), Settings(5, alpha, 1.0)
    index = build(rows, cut)
    batch = rank(index, labels, dense.canonical(queries), settings, k, method=method)
    session = Session(index, labels, settings, method=method)
    for q, query in enumerate(queries):
        ids, sims = dense.neighbours(rows, query, 5, 1.0)
        best, scores = dense.ranking(rows, sets, query, 5, alpha, 1.0, k)
        assert batch[0][q].tolist() == best
        assert batch[1][q].tolist() == scores
        # The session takes raw values, stored zeros included.
        one = session.predict_one(np.arange(query.size), query, k)
        assert (one[0].tolist(), one[1].tolist()) == (best, scores)
        near = session.kneighbors_one(np.arange(query.size), query)
        assert (near[0].tolist(), near[1].tolist()) == (ids, sims)


def test_the_papers_worked_example():
    rows = np.zeros((5, 9))
    rows[0, [1, 2, 4]] = 1
    rows[1:, [1, 2, 4, 5, 8]] = 1
    labels = Labels.prepare(np.cumsum([0, 2, 3, 3, 3, 3]), np.array([1, 2] + [3, 5, 6] * 4))
    index = build(rows, {})

    def first(alpha, beta):
        session = Session(index, labels, Settings(5, alpha, beta))
        found, scores = session.predict_one(np.array([1, 2, 4]), np.ones(3), 5)
        return found.tolist(), scores.tolist()

    assert first(1, 0)[0] == [3, 5, 6, 1, 2]
    np.testing.assert_allclose(first(1, 0)[1], [3.098] * 3 + [1] * 2, atol=5e-4)
    np.testing.assert_allclose(first(1, 1)[1], [1.859] * 3 + [1] * 2, atol=5e-4)
    assert first(1, 2.20)[0][0] == 3
    assert first(1, 2.23)[0][0] == 1
    assert first(1.80, 1)[0][0] == 3
    assert first(1.82, 1)[0][0] == 1
    assert first(5.42, 0)[0][0] == 3
    assert first(5.44, 0)[0][0] == 1
