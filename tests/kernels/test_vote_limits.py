"""The sum of votes must fit into an int64."""

import numpy as np
import pytest

from swnn_kernels import HybridIndex, Labels, QuantisedRows, Session, Settings, rank, vote_batch
from swnn_kernels.records import MAX_VOTERS
from swnn_xp import SWNNClassifier


def test_votes_of_as_many_neighbours_as_allowed_are_exact():
    labels = Labels.prepare(np.array([0, 1]), np.array([0]))
    ids = np.zeros((1, MAX_VOTERS), np.int64)
    _, scores = vote_batch(labels, ids, np.ones(ids.shape), 0.0, 1)
    assert scores.tolist() == [[MAX_VOTERS]]


def test_more_neighbours_than_can_vote_are_refused():
    labels = Labels.prepare(np.array([0, 1]), np.array([0]))
    ids = np.zeros((1, 2**23), np.int64)
    with pytest.raises(
        ValueError, match="8388608 neighbours would vote: n_neighbors can be 4194304"
    ):
        vote_batch(labels, ids, np.ones(ids.shape), 0.0, 1)


@pytest.mark.parametrize("backend", ["numba", "numpy"])
def test_models_refuse_them_too(backend, monkeypatch):
    # Four million rows take too long for a test: the limit is lowered instead.
    monkeypatch.setattr("swnn_kernels.records.MAX_VOTERS", 3)
    X = np.ones((5, 2))
    clf = SWNNClassifier(n_neighbors=10, backend=backend).fit(X, np.ones((5, 1)))
    calls = [clf.predict_topk, clf.predict_proba, clf.topk_probabilities]
    for call in calls + ([lambda X: clf.session()] if backend == "numba" else []):
        with pytest.raises(ValueError, match="5 neighbours would vote"):
            call(X)
    assert clf.kneighbors(X).ids.shape == (5, 10)  # neighbours that do not vote have no limit
    assert clf.set_params(n_neighbors=3).predict_topk(X, 1).scores.shape == (5, 1)
    rows = QuantisedRows(np.arange(6), np.zeros(5, np.int32), np.full(5, 2**23, np.int32), 1)
    labels = Labels.prepare(np.arange(6), np.zeros(5, np.int32))
    with pytest.raises(ValueError, match="5 neighbours would vote"):
        rank(HybridIndex.build(rows), labels, rows, Settings(10, 0.0, 1.0), 1)
    with pytest.raises(ValueError, match="5 neighbours would vote"):
        Session(HybridIndex.build(rows), labels, Settings(10, 0.0, 1.0))
