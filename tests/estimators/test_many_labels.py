"""A k far beyond the number of labels costs the memory of the answer, not of temporaries."""

import tracemalloc

import numpy as np
import pytest

from swnn_xp import SWNNClassifier, SWNNRanker

X = np.array([[1.0, 2, 0], [0, 1, 1], [3, 0, 1], [0, 0, 2]] * 5)
Y = np.array([[1, 0], [0, 1], [1, 1], [0, 1]] * 5)
K = 200_000


@pytest.fixture(params=[SWNNClassifier, SWNNRanker])
def fitted(request):
    return request.param(n_neighbors=3, backend="numpy").fit(X, Y)


def peak_per_byte(answer):
    """Most bytes in use at a time for each byte of the answer."""
    answer(K)  # whatever is cached
    tracemalloc.start()
    try:
        found = answer(K)
        return tracemalloc.get_traced_memory()[1] / sum(part.nbytes for part in found)
    finally:
        tracemalloc.stop()


def test_batches(fitted):
    assert peak_per_byte(lambda k: fitted.predict_topk(X[:4], k)) < 1.2
    assert peak_per_byte(lambda k: fitted.topk_probabilities(X[:4], k)) < 1.2


def test_sessions_of_several_segments():
    clf = SWNNClassifier(n_neighbors=3, backend="numba").fit(X, Y).partial_fit(X[:2], Y[:2])
    session = clf.session()
    for ask in (session.predict_one, session.topk_probabilities_one):
        assert peak_per_byte(lambda k, ask=ask: ask([0], [1.0], k)) < 1.2
        assert ask([0], [1.0], 5).labels.tolist() == [0, 1, -1, -1, -1]


def test_names_need_no_room_for_labels_that_do_not_exist():
    clf = SWNNClassifier(backend="numpy").fit(X, Y, label_names=["a", "b"])
    assert clf.predict_names([[0, 1, 0]], k=10**30) == clf.predict_names([[0, 1, 0]], k=2)


def test_score_wants_as_many_columns_as_fit(fitted):
    with pytest.raises(ValueError, match="y has 1 labels, but the model has 2"):
        fitted.score(X, Y[:, :1])
    assert fitted.score(X, np.c_[Y, Y]) == fitted.score(X, Y)
