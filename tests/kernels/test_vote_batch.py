"""Votes of given neighbours in compiled code equal those by the array API."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swnn_kernels import Labels, vote_batch
from swnn_xp.results import Neighbours
from swnn_xp.rows.records import LabelRows
from swnn_xp.vote import rank, vote


@given(
    seed=st.integers(0, 2**32 - 1),
    n_queries=st.integers(0, 6),
    n_neighbors=st.integers(1, 8),
    alpha=st.sampled_from([0.0, 1.0, 2.0]),
    k=st.integers(1, 9),
)
def test_same_bits(seed, n_queries, n_neighbors, alpha, k):
    rng = np.random.default_rng(seed)
    n_rows, n_labels = 10, 6
    flags = rng.random((n_rows, n_labels)) < 0.4
    indptr = np.concatenate([[0], np.cumsum(flags.sum(axis=1))])
    labels = LabelRows(indptr, np.nonzero(flags)[1].astype(np.int32), n_labels)
    ids = (
        np.stack([rng.permutation(n_rows)[:n_neighbors] for _ in range(n_queries)])
        if n_queries
        else np.empty((0, n_neighbors), np.int64)
    )
    found = rng.integers(0, n_neighbors + 1, n_queries)
    missing = np.arange(n_neighbors)[None, :] >= found[:, None]
    # Few distinct similarities, so that labels tie.
    sims = np.where(missing, 0.0, rng.integers(1, 4, ids.shape) / 4)
    ids = np.where(missing, -1, ids)
    expected = rank(vote(Neighbours(sims, ids), labels, alpha), k)
    got = vote_batch(Labels.prepare(labels.indptr, labels.indices), ids, sims, alpha, k)
    np.testing.assert_array_equal(got[0], expected.labels)
    np.testing.assert_array_equal(got[1], expected.scores)


def test_neighbours_out_of_range_are_refused():
    labels = Labels.prepare(np.array([0, 1]), np.array([0]))
    for bad in (1, -2):
        with pytest.raises(ValueError, match="neighbours must lie in"):
            vote_batch(labels, np.array([[bad]]), np.array([[0.5]]), 1.0, 1)
