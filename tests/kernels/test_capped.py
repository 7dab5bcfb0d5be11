"""The capped search is that of the oracle, however the index is laid out."""

import numpy as np
import oracle
import pytest
from kernels.dense import canonical
from kernels.test_pruned import SHAPES

from swnn_kernels import HybridIndex, Labels, Session, Settings
from swnn_kernels.answer.batch import search_capped, shortlist
from swnn_kernels.records import Cap, rows_to_rescore


def cap_of(dense, postings, n_neighbors):
    counts = np.count_nonzero(dense, axis=0)
    return Cap(postings, rows_to_rescore(postings, n_neighbors), counts)


def answers(session, query):
    at = np.flatnonzero(query)
    ids, sims = session.kneighbors_one(at, query[at])
    return [(sim, i) for i, sim in zip(ids.tolist(), sims.tolist(), strict=True) if i >= 0]


@pytest.mark.parametrize("make", SHAPES)
@pytest.mark.parametrize("frequent", [0.02, 2.0])
@pytest.mark.parametrize(("postings", "n_neighbors"), [(1, 1), (60, 5), (500, 3), (10**6, 20)])
def test_capped_is_the_oracle(make, frequent, postings, n_neighbors):
    rng = np.random.default_rng(postings)
    dense = make(rng, 150)
    index = HybridIndex.build(canonical(dense), frequent=frequent, fewest=1)
    labels = Labels.prepare(np.arange(151), np.arange(150))
    cap = cap_of(dense, postings, n_neighbors)
    for beta in (0.0, 1.0, 2.0):
        session = Session(index, labels, Settings(n_neighbors, 1.0, beta), cap=cap)
        queries = dense[rng.choice(150, 6, replace=False)]
        queries[0] = 0
        queries[1] *= -1
        found = search_capped(index, canonical(queries), n_neighbors, beta, cap, n_jobs=2)
        for query, ids, sims in zip(queries, *found, strict=True):
            expected = oracle.capped(dense, query, n_neighbors, beta, postings)
            assert answers(session, query) == expected
            assert ids[ids >= 0].tolist() == [i for _, i in expected]
            assert sims[ids >= 0].tolist() == [sim for sim, _ in expected]


def test_a_shortlist_holds_what_is_rescored():
    rng = np.random.default_rng(3)
    dense = SHAPES[1](rng, 300)
    index, cap = HybridIndex.build(canonical(dense)), cap_of(dense, 200, 5)
    labels = Labels.prepare(np.arange(301), np.arange(300))
    session = Session(index, labels, Settings(5, 1.0, 1.0), cap=cap)
    ids, sims, scores = shortlist(index, canonical(dense[:9]), 1.0, cap)
    best, of_best = search_capped(index, canonical(dense[:9]), 5, 1.0, cap)
    assert ids.shape == (9, 10)
    for q, query in enumerate(dense[:9]):
        at = np.flatnonzero(query)
        for part, one in zip(
            (ids, sims, scores), session.shortlist_one(at, query[at]), strict=True
        ):
            np.testing.assert_array_equal(part[q], one)
        order = np.lexsort((ids[q], -sims[q]))[:5]
        np.testing.assert_array_equal(np.where(sims[q] > 0, ids[q], -1)[order], best[q])
        np.testing.assert_array_equal(np.maximum(sims[q], 0)[order], of_best[q])
        assert np.all((scores[q] > 0) == (ids[q] >= 0))


def test_rows_that_were_removed_are_not_found():
    rng = np.random.default_rng(4)
    dense, removed = SHAPES[4](rng, 100), rng.random(100) < 0.5
    index = HybridIndex.build(canonical(dense))
    cap = cap_of(dense[~removed], 150, 7)
    ids, _ = search_capped(index, canonical(dense[:20]), 7, 1.0, cap, removed=removed)
    left = np.flatnonzero(~removed)
    for q in range(20):
        expected = [left[i] for _, i in oracle.capped(dense[~removed], dense[q], 7, 1.0, 150)]
        assert ids[q][ids[q] >= 0].tolist() == expected


@pytest.mark.parametrize(
    "cap", [Cap(0, 1, np.ones(8)), Cap(1, 0, np.ones(8)), Cap(1, 1, np.ones(7))]
)
def test_a_bad_cap_is_refused(cap):
    rows = canonical(np.eye(8))
    with pytest.raises(ValueError, match="(postings|n_rescored) must|one count for each"):
        search_capped(HybridIndex.build(rows), rows, 1, 1.0, cap)
